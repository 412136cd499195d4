"""Checks of TensorIR: that a part is one function of it, in blocks with the right axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

import msgspec
from msgspec.structs import replace

from grader.assignment import Computation, Table, TensorTable
from grader.evidence.case import Case, Problem
from grader.evidence.registry import NoOptions, Outcome, check, failed, passed
from grader.evidence.subject import find_function
from grader.ir.facts import Block, BufferFacts, FunctionFacts, Loop, Store
from grader.language import say

Axes = Annotated[str, msgspec.Meta(pattern=r"^[SR]+\Z")]


class TensorIROptions(Table, frozen=True):
    """Which axes the blocks have that do the computation, before any schedule.

    One letter for each axis, in any order: S for a spatial one, R for one of a reduction. Several
    words where an axis may be left out because its extent is one; the first is named in messages.
    Words with an R hold for the blocks that sum up, words without for all blocks that do more than
    fill a buffer of the function's own along its axes. Where there is none, blocks may be anything.
    """

    axes: tuple[Axes, ...] = ()


@check("tensorir", options=TensorIROptions)
def tensorir(case: Case, options: TensorIROptions) -> Outcome:
    """The function is written in TensorIR, in blocks whose axes are of the right kinds.

    What is summed over is a reduction axis, and a sum has a start value. Nothing is left to
    operators or external functions.
    """
    facts = case.candidate.facts
    foreign = [call for call in facts.calls if call.kind != "tir"]
    if foreign:
        return failed(
            say("computed-by-not-by-tensorir", value=foreign[0].binding, callee=foreign[0].callee),
            say("write-loops-yourself-in-function-under"),
        )
    functions = _functions(case)
    if not functions:
        outputs = case.evidence.outputs
        if isinstance(outputs, Problem) and outputs.code == "signature":
            # That says which parameters, and what one thing mends is told once.
            return failed(outputs.reason, outputs.hint)
        return failed(
            say("no-tensorir-function-module-has-parameters"),
            say("compare-shapes-dtypes-and-order-parameters"),
        )
    names = ", ".join(f"`{each.name}`" for each in functions)
    return _judge(functions, options) or passed(
        say("written-in-blocks-with-axes-right-kinds", names=names)
    )


def _functions(case: Case) -> list[FunctionFacts]:
    """Return the functions that `main` calls, or else the one that takes what is asked for."""
    facts = case.candidate.facts
    if facts.has_main:
        names = dict.fromkeys(call.callee for call in facts.calls)
        return [facts.functions[name] for name in names if name in facts.functions]
    if not isinstance(case.comparison, Computation):
        return list(facts.functions.values())
    function = find_function(facts, case.comparison)
    return [] if function is None else [function]


def _judge(functions: Sequence[FunctionFacts], options: TensorIROptions) -> Outcome | None:
    """Return the first thing that is wrong, None if nothing is."""
    without = next((each for each in functions if not _working(each)), None)
    if without is not None:
        return failed(
            say("has-no-block", function=without.name), say("inside-loops-write-with-t-sblock-name")
        )
    if not options.axes:
        return None
    pairs = [(block, each) for each in functions for block in _working(each)]
    main = [pair for pair in pairs if "R" in options.axes[0] or not _fills_own_buffer(*pair)]
    whole = [_with_outer_axes(*pair) for pair in main or pairs]  # one has to have the axes
    return (
        _first(_loop_within(block) for block, _ in pairs)
        or _axes(whole, options.axes)
        or _first(_without_start(*pair) for pair in pairs)
    )


def _working(function: FunctionFacts) -> list[Block]:
    """Return the blocks that store something themselves."""
    return [block for block in function.blocks if block.statements]


def _with_outer_axes(block: Block, function: FunctionFacts) -> Block:
    """Return a block with the axes of the blocks around it before its own, as if it were one.

    A convolution may have a block for an item of the output, and in it one for its sum.
    """
    axes, outer = block.iterators, block.parent
    while outer is not None:
        axes, outer = function.blocks[outer].iterators + axes, function.blocks[outer].parent
    return replace(block, iterators=axes)


def _fills_own_buffer(block: Block, function: FunctionFacts) -> bool:
    """Say whether a block has one spatial axis for each axis of what it stores, and no output.

    What is the same in all rows is computed once, in a vector, before the matrix that needs it.
    """
    wanted = {each.name: "S" * len(each.tensor.shape or ()) for each in function.allocations}
    return all(wanted.get(name) == block.iterators for name in block.stores)


def _first(problems: Iterable[Outcome | None]) -> Outcome | None:
    return next((problem for problem in problems if problem is not None), None)


def _loop_within(block: Block) -> Outcome | None:
    """Refuse a loop in a block, where it has no axis of the block."""
    inside = [
        loop
        for store in block.statements
        for loop in store.loops
        if loop not in block.loops and loop.extent != 1
    ]
    if not inside:
        return None
    return failed(
        say("loop-inside-block-where-no-axis-block", loop=inside[0].variable, block=block.name),
        say("put-all-loops-outside-block-for-example"),
    )


def _axes(blocks: Sequence[Block], words: tuple[str, ...]) -> Outcome | None:
    """Say which block has other axes than it should."""
    if "R" not in words[0]:
        return _first(_other_axes(block, words) for block in blocks)
    sums = [block for block in blocks if "R" in block.iterators or _adds_up(block)]
    if not sums:
        return failed(say("no-block-sums-up"), say("set-output-start-value-under"))
    return _first(_other_axes(block, words) for block in sums)


def _adds_up(block: Block) -> bool:
    """Say whether a block stores into what it loads from, again and again."""
    return any(store.buffer in store.loads and _summed(store) for store in block.statements)


def _summed(store: Store) -> list[Loop]:
    """Return the loops that a store depends on, but not by its index."""
    pairs = zip(store.loops, store.axes, strict=True)
    return [loop for loop, axes in pairs if not axes and loop.extent != 1]


def _other_axes(block: Block, words: tuple[str, ...]) -> Outcome | None:
    if sorted(block.iterators) in [sorted(word) for word in words]:
        return None
    have = block.iterators
    names = {"block": block.name, "have": have or "-", "wanted": words[0]}
    alike = next((word for word in words if len(word) == len(have)), have)
    if have.count("R") < alike.count("R"):
        return failed(
            say("block-has-axes-should-have-axis-sum", **names),
            say("what-not-in-index-output-reduction-axis"),
        )
    if have.count("R") > alike.count("R"):
        return failed(
            say("block-has-axes-should-have-axis-output", **names),
            say("what-in-index-output-spatial-axis"),
        )
    return failed(
        say("block-has-axes-should-have", **names), say("give-block-one-axis-for-each-axis")
    )


def _without_start(block: Block, function: FunctionFacts) -> Outcome | None:
    """Refuse a sum that nothing sets to its start value: the memory holds anything."""
    if "R" not in block.iterators or block.has_init:
        return None
    before = function.blocks[: function.blocks.index(block)]
    if any(set(block.stores) & (set(each.stores) - set(each.loads)) for each in before):
        return None
    return failed(
        say("block-adds-which-never-initialised", block=block.name, buffer=block.stores[0]),
        say("set-in-block-before-you-add"),
    )


@check("one_function", options=NoOptions)
def one_function(case: Case, _options: NoOptions) -> Outcome:
    """The module is one TensorIR function with the required parameters.

    Inputs come first, then outputs. What else is computed on the way is no parameter.
    """
    facts, wanted, name = case.candidate.facts, case.comparison, case.candidate.capture.name
    if facts.has_main:
        return failed(
            say("module-with-relax-function-main-not-tensorir", name=name),
            say("hand-in-what-te-create-prim-func"),
        )
    functions = list(facts.functions.values())
    if not functions or not isinstance(wanted, Computation):
        return failed(
            say("there-no-tensorir-function", name=name), say("make-one-with-te-create-prim-func")
        )
    fitting = find_function(facts, wanted)
    if fitting is None:
        return failed(
            say(
                "has-parameters-should-have",
                name=functions[0].name,
                found=_spell(functions[0].parameters),
                wanted=_spell_tables((*wanted.arguments, *wanted.outputs)),
            ),
            say("te-create-prim-func-takes-inputs-first"),
        )
    parameters = _spell(fitting.parameters)
    return passed(say("has-parameters", name=fitting.name, found=parameters))


def _spell(buffers: Iterable[BufferFacts]) -> str:
    return _join((each.tensor.shape or (), each.tensor.dtype) for each in buffers)


def _spell_tables(tables: Iterable[TensorTable]) -> str:
    return _join((each.shape, each.dtype) for each in tables)


def _join(tensors: Iterable[tuple[tuple[int | str, ...], str]]) -> str:
    """Return, for example, `(128, 64), (64, 32)`, with the dtype where it is not float32."""
    return ", ".join(
        f"({', '.join(map(str, shape))})" + (f" {dtype}" if dtype != "float32" else "")
        for shape, dtype in tensors
    )
