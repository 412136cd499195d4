"""Checks of what a pass made of a model: which operators are left, which were put together.

They also say whether `main` is for shapes of any size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated

import msgspec

from grader.assignment import Table
from grader.checks.kinds.graph import WITHOUT_MAIN, used_calls
from grader.evidence.case import Case
from grader.evidence.registry import Outcome, check, failed, partial, passed
from grader.ir.facts import Argument, BufferFacts, Call, ModuleFacts
from grader.ir.vocabulary import OPERATORS
from grader.language import Text, in_a_row, say

Count = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Place = Annotated[int, msgspec.Meta(ge=0, le=100)]
Group = tuple[str, ...]
"""Names of operators, in the order of the alphabet: which of them is called first is the pass's."""


def _demand_operators(names: Iterable[str]) -> None:
    """Raise ValueError for a name that is no operator of Relax: no module could have it."""
    for name in names:
        if name not in OPERATORS:
            near = get_close_matches(name, OPERATORS, 1)
            raise ValueError(
                f"Relax has no operator {name!r}"
                + (f" (did you mean {near[0]!r}?)" if near else "")
            )


class OperatorOptions(Table, frozen=True):
    """`counts` says of operators of Relax (`relax.nn.silu`) how many calls `main` makes of each.

    With `lowered`, `main` may call TensorIR and external functions too, which are not counted.
    """

    counts: dict[str, Count]
    lowered: bool = False

    def __post_init__(self) -> None:
        _demand_operators(self.counts)


@check("operators", options=OperatorOptions)
def operators(case: Case, options: OperatorOptions) -> Outcome:
    """The pass rewrites what it should, and nothing else.

    Calls of each operator in `main` are counted. Those whose results are not used count as well: a
    pass leaves none behind.
    """
    facts = case.candidate.facts
    if not facts.has_main:
        return WITHOUT_MAIN
    others = [each for each in facts.calls if each.kind in ("tir", "extern")]
    if others and not options.lowered:
        return _other(others[0])
    called = _operators(facts.calls)
    used = _operators(used_calls(facts))
    left = [name for name, wanted in options.counts.items() if used[name] > wanted]
    gone = [name for name, wanted in options.counts.items() if used[name] < wanted]
    for name, wanted in options.counts.items():
        if called[name] > wanted:
            unused = called[name] - used[name]
            return _left(name, called[name], wanted, gone) if not unused else _unused(name)
        if used[name] < wanted:
            return failed(
                say("calls-in-main-there-should", name=name, count=used[name], wanted=wanted),
                _too_few(facts, name, left),
            )
    told = (say("times", name=name, count=n) for name, n in options.counts.items())
    return passed(say("main-calls-required-operators", told=in_a_row(told)))


def _too_few(facts: ModuleFacts, name: str, left: list[str]) -> Text:
    """Return what to do where `main` has too few calls of an operator, by where there are more.

    `left` are operators that it has too many calls of: those that were not rewritten.
    """
    repeated = _repeated(facts)
    if repeated is not None:
        return repeated
    for call in used_calls(facts):
        graph = facts.graphs.get(call.callee) if call.kind == "function" else None
        if graph is not None and any(each.callee == name for each in graph.calls):
            return say("calls-find-out-why-pass-put", function=call.callee, name=name)
    if left:
        return say("main-still-has-check-pattern-and-return", names=_spell(left))
    return say("print-module-before-and-after-pass", name=name)


def _repeated(facts: ModuleFacts) -> Text | None:
    """Return what to do about a function that does again what `main` still does on the same values.

    A pass that does not count uses groups a product that something else takes as well: the pattern
    matches, and the product is computed twice.
    """
    calls = used_calls(facts)
    for call in calls:
        graph = facts.graphs.get(call.callee) if call.kind == "function" else None
        taken = () if graph is None else graph.calls
        first = {each.callee for each in taken if all(map(_is_given, each.arguments))}
        for other in calls:
            is_alike = other.kind == "operator" and other.callee in first
            if is_alike and _is_of(other, call):
                return say("function-repeats-operator", function=call.callee, name=other.callee)
    return None


def _is_given(argument: Argument) -> bool:
    return argument.kind in ("input", "constant")


def _is_of(call: Call, other: Call) -> bool:
    """Say whether a call takes values that another one takes too, and not constants alone."""
    known = [each for each in call.arguments if each.kind in ("input", "value")]
    return bool(known) and set(call.arguments) <= set(other.arguments)


def _operators(calls: tuple[Call, ...]) -> Counter[str]:
    return Counter(each.callee for each in calls if each.kind == "operator")


def _other(call: Call) -> Outcome:
    return failed(
        say("computed-by-which-not-operator", binding=call.binding, callee=call.callee),
        say("leave-operators-and-functions-operators-in-module"),
    )


def _left(name: str, count: int, wanted: int, gone: list[str]) -> Outcome:
    """Say that there are too many calls of an operator: where others are gone, in their place."""
    hint = say("print-module-before-and-after-pass-pattern")
    if gone:
        hint = say("pass-took-away-calls-that-should-stay", names=_spell(gone), name=name)
    return failed(say("calls-in-main-there-should", name=name, count=count, wanted=wanted), hint)


def _unused(name: str) -> Outcome:
    return failed(
        say("main-still-calls-and-result-not-used", name=name),
        say("remove-what-nothing-uses-relax-analysis-remove"),
    )


class FusedOptions(Table, frozen=True):
    """`groups` are the operators that a function must do, one group for each call of one.

    With `primitive`, a function must have the attribute of that name to count.
    """

    groups: tuple[tuple[str, ...], ...]
    primitive: bool = True

    def __post_init__(self) -> None:
        _demand_operators(name for group in self.groups for name in group)


@check("fused", options=FusedOptions)
def fused(case: Case, options: FusedOptions) -> Outcome:
    """Functions group the operators that belong together, and no others.

    Points are in proportion to the groups that are right, of those that are asked for or there.
    """
    facts = case.candidate.facts
    if not facts.has_main:
        return WITHOUT_MAIN
    calls = [each for each in used_calls(facts) if each.kind == "function"]
    unmarked = _unmarked(facts, calls) if options.primitive else ()
    if unmarked:
        return failed(
            say("function-not-marked-as-one-compiled", name=unmarked[0]),
            say("give-attribute-function-with-attr-primitive-true"),
        )
    made = Counter(_group(facts, each) for each in calls)
    wanted = Counter(tuple(sorted(each)) for each in options.groups)
    if made == wanted:
        return passed(say("groups-operators-each-in-function", count=len(calls)))
    right, most = (made & wanted).total(), max(made.total(), wanted.total())
    return partial(right / most, *_explain(made, wanted, _repeated(facts)))


def _unmarked(facts: ModuleFacts, calls: list[Call]) -> tuple[str, ...]:
    """Return the functions that are called and are not marked."""
    found = {each.callee: facts.graphs.get(each.callee) for each in calls}
    return tuple(name for name, graph in found.items() if graph is None or not graph.primitive)


def _group(facts: ModuleFacts, call: Call) -> Group:
    """Return what a function that is called does: its operators, and functions by their names."""
    graph = facts.graphs.get(call.callee)
    return () if graph is None else tuple(sorted(each.callee for each in graph.calls))


def _explain(
    made: Counter[Group], wanted: Counter[Group], repeated: Text | None
) -> tuple[Text, Text]:
    """Say which group is not there; where none is missing, which one should not be, and why."""

    def counted(group: Group) -> Text:
        return say(
            "functions-that-do-and-nothing-else-there",
            group=_spell(group),
            count=made[group],
            wanted=wanted[group],
        )

    for group in wanted - made:
        for larger in made - wanted:
            # matmul, add, relu and relu are no matmul and add where matmul, add and relu are wanted
            within = [each for each in wanted if Counter(each) < Counter(larger)]
            if group in within and group == max(within, key=len):
                more = _spell((Counter(larger) - Counter(group)).elements())
                return counted(group), say("leave-out-of-function-that-does-these", more=more)
        return counted(group), say("print-module-after-pass-which-these-operators")
    group = next(iter(made - wanted))
    leave = repeated or say("leave-in-main-everything-that-does")
    if wanted[group]:
        return counted(group), leave
    return say("function-does-and-none-should", group=_spell(group)), leave


def _spell(group: Iterable[str]) -> Text:
    return in_a_row(f"`{each}`" for each in group)


class SymbolicOptions(Table, frozen=True):
    """`axes` are pairs: an argument of `main`, and an axis of it that must be of any size."""

    axes: tuple[tuple[Place, Place], ...]


@check("symbolic", options=SymbolicOptions)
def symbolic(case: Case, options: SymbolicOptions) -> Outcome:
    """`main` accepts tensors of every required size."""
    facts = case.candidate.facts
    if not facts.has_main:
        return WITHOUT_MAIN
    declared = facts.inputs if facts.declared is None else facts.declared
    for argument, axis in options.axes:
        if not _is_symbolic(declared, argument, axis):
            return _fixed(declared, argument, axis)
    return passed(say("main-accepts-tensors-every-required-size"))


def _is_symbolic(declared: tuple[BufferFacts, ...], argument: int, axis: int) -> bool:
    shape = declared[argument].tensor.shape if argument < len(declared) else ()
    return shape is None or (axis < len(shape) and isinstance(shape[axis], str))


def _fixed(declared: tuple[BufferFacts, ...], argument: int, axis: int) -> Outcome:
    hint = say("let-axis-variable-r-tensor-n-64")
    if argument >= len(declared):
        return failed(say("main-takes-arguments", count=len(declared)), hint)
    each = declared[argument]
    return failed(
        say(
            "axis-has-one-size-main-takes-tensor",
            axis=axis,
            name=each.name,
            shape=str(each.tensor.shape),
        ),
        hint,
    )
