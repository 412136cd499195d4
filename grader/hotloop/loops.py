"""The loops of a function: which instructions are in each, and an estimate of its rounds.

A loop is a strongly connected part of the graph of blocks, and what is in it without its head is
searched in turn: so loops are found wherever the compiler has put their blocks. (A jump backwards
alone is none: LLVM puts the block that returns first, and jumps back to it.)
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from grader.hotloop.instructions import Branch, Function, Instruction, Syntax

UNKNOWN_ROUNDS = 8
"""How many rounds a loop counts for whose rounds are not numbers in the text."""

MOST_ROUNDS = 10**12
FARTHEST = 1000
"""How many instructions before a loop are searched for where its counter begins."""

MOST_WAYS_OUT = 16
"""How many blocks that leave a loop are looked at for its counter."""

DEEPEST = 24
"""Loops in loops that are followed; deeper ones belong to the loop around them."""


class Loop(NamedTuple):
    """One loop: the instructions that are in it and in no loop within it.

    `rounds` estimates how often they are done in a call.
    """

    instructions: tuple[Instruction, ...]
    rounds: int


class _Block(NamedTuple):
    """Instructions from `start` to before `end`, and the blocks that may follow."""

    start: int
    end: int
    next: tuple[int, ...]


def find_loops(function: Function, syntax: Syntax) -> Iterator[Loop]:
    """Yield all loops of a function, outer ones first."""
    blocks = _blocks(function, syntax)
    yield from _Nest(function, syntax, blocks).search(range(len(blocks)), 1, 1)


class _Nest:
    """The search for loops in one function."""

    def __init__(self, function: Function, syntax: Syntax, blocks: list[_Block]) -> None:
        self._function = function
        self._syntax = syntax
        self._blocks = blocks
        self._before: list[list[int]] = [[] for _ in blocks]
        for number, block in enumerate(blocks):
            for to in block.next:
                self._before[to].append(number)

    def search(self, within: Iterable[int], rounds: int, depth: int) -> Iterator[Loop]:
        """Yield the loops of some blocks, which are done so often."""
        for members in self._parts(within):
            head = self._head(members)
            often = min(MOST_ROUNDS, rounds * self._rounds(head, members))
            inner = members - {head} if depth < DEEPEST else set()
            own = members.difference(*self._parts(inner))
            listed = tuple(each for number in sorted(own) for each in self._of(number))
            yield Loop(listed, often)
            yield from self.search(inner, often, depth + 1)

    def _parts(self, within: Iterable[int]) -> list[set[int]]:
        """Return the parts of some blocks in each of which every block leads to every other."""
        inside = set(within)
        graph = {one: [to for to in self._blocks[one].next if to in inside] for one in inside}
        parts = map(set, _components(graph))
        return [part for part in parts if len(part) > 1 or part & {*graph[min(part)]}]

    def _head(self, members: set[int]) -> int:
        """Return the block by which a loop is entered, the first in the text of several."""
        entered = (each for each in members if not members.issuperset(self._before[each]))
        return min(entered, default=min(members))

    def _of(self, number: int) -> list[Instruction]:
        block = self._blocks[number]
        return self._function.instructions[block.start : block.end]

    def _rounds(self, head: int, members: set[int]) -> int:
        """Estimate the rounds of a loop by its counter: where it begins, its steps and its end."""
        leaving = (each for each in members if not members.issuperset(self._blocks[each].next))
        last_first = sorted(leaving, key=lambda each: (head not in self._blocks[each].next, each))
        for number in last_first[:MOST_WAYS_OUT]:
            compares = filter(None, map(self._syntax.compared, reversed(self._of(number))))
            compared = next(compares, None)
            if compared and (rounds := self._counted(*compared, head, members)):
                return rounds
        return UNKNOWN_ROUNDS

    def _counted(self, register: str, limit: int, head: int, members: set[int]) -> int:
        """Return how many rounds it takes until a register holds a number, 0 if that is unknown."""
        within = (each for number in members for each in self._of(number))
        changes = [each for each in within if self._syntax.written(each) == register]
        step = self._syntax.step(changes[0]) if len(changes) == 1 else None
        begin = self._begin(register, head, members)
        if step is None or step[1] == 0 or begin is None:
            return 0
        rounds = (limit - begin) // step[1]
        return rounds if 0 < rounds <= MOST_ROUNDS else 0

    def _begin(self, register: str, head: int, members: set[int]) -> int | None:
        """Return the number that a register has before a loop, where the text says it."""
        outside = (number for number in range(head - 1, -1, -1) if number not in members)
        before = (each for number in outside for each in reversed(self._of(number)))
        for one in islice(before, FARTHEST):
            if self._syntax.written(one) == register:
                constant = self._syntax.constant(one)
                return constant[1] if constant else None
        return None


def _blocks(function: Function, syntax: Syntax) -> list[_Block]:
    """Divide a function at the targets of its branches and behind these.

    Labels that nothing jumps to, such as those of debug information, divide nothing.
    """
    count = len(function.instructions)
    branches = dict(_branches(function, syntax))
    targets = {function.labels.get(each.target, 0) for each in branches.values()}
    starts = sorted({0, *targets, *(place + 1 for place in branches)} & {*range(count)})
    numbers = {start: number for number, start in enumerate(starts)}
    blocks = []
    for start, end in zip(starts, [*starts[1:], count], strict=True):
        blocks.append(_Block(start, end, _followers(end, branches, function.labels, numbers)))
    return blocks


def _branches(function: Function, syntax: Syntax) -> Iterator[tuple[int, Branch]]:
    for place, one in enumerate(function.instructions):
        branch = syntax.branch(one)
        if branch is not None:
            yield place, branch


def _followers(
    end: int,
    branches: Mapping[int, Branch],
    labels: Mapping[str, int],
    numbers: Mapping[int, int],
) -> tuple[int, ...]:
    """Return the blocks that may follow the one that ends there."""
    branch = branches.get(end - 1, Branch("", falls_through=True))
    places = [labels[branch.target]] if branch.target in labels else []
    if branch.falls_through:
        places.append(end)
    return tuple(numbers[place] for place in places if place in numbers)


def _components(graph: Mapping[int, list[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components of a graph (R. Tarjan, 1972), without recursion."""
    low: dict[int, int] = {}
    waiting: list[int] = []
    done = len(graph)
    for root in graph:
        if root in low:
            continue
        work = [(root, len(low), iter(graph[root]))]
        low[root] = len(low)
        waiting.append(root)
        while work:
            node, index, followers = work[-1]
            to = next((each for each in followers if low.get(each, -1) < done), None)
            if to is None:
                work.pop()
                if work:
                    before = work[-1][0]
                    low[before] = min(low[before], low[node])
                if low[node] == index:
                    part: list[int] = []
                    while node not in part[-1:]:
                        part.append(waiting.pop())
                        low[part[-1]] = done
                    yield part
            elif to in low:
                low[node] = min(low[node], low[to])
            else:
                work.append((to, len(low), iter(graph[to])))
                low[to] = len(low)
                waiting.append(to)
