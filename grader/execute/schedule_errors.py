"""Why TVM refuses a step of a schedule, and what to do instead.

`known_errors.py` reads the words of TVM's error; this is what is said about each kind.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.execute.known_errors import ErrorKind, KnownError
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, join, say

_EXPLANATIONS: Mapping[ErrorKind, tuple[tuple[str, ...], Text, Text]] = {
    "step_on_reduction": (
        ("block",),
        say("The loop belongs to a reduction axis of block {block}."),
        say(
            "Only a loop of spatial axes can be vectorized, bound or run in parallel: choose one,"
            " and split it first if it is long."
        ),
    ),
    "step_without_block": (
        ("block",),
        say("The function has no block {block}."),
        say("Print the names of its blocks with sch.show(), and give one of them to get_sblock."),
    ),
    "step_inlines_sum": (
        ("block",),
        say("Block {block} is a reduction, and reductions cannot be inlined."),
        say(
            "Inline only blocks that compute each element in one step, such as padding, a bias or"
            " a ReLU."
        ),
    ),
    "step_names_loop_twice": (
        ("loop",),
        say("Loop {loop} is named twice."),
        say("Name each loop once."),
    ),
    "step_factors_too_small": (
        ("loop",),
        say("The product of the factors is less than the extent of loop {loop}."),
        say("Write None for one of the factors: TVM computes it from the extent."),
    ),
    "step_loops_apart": (
        ("outer", "inner"),
        say("Loop {inner} does not stand directly inside loop {outer}."),
        say("Only neighbouring loops can be fused: reorder them first, then fuse outer and inner."),
    ),
    "step_not_a_sum": (
        ("block",),
        say("Block {block} has no T.init(): it is no reduction, or was decomposed already."),
        say(
            "Call decompose_reduction once, for the block of the sum, after the steps that move or"
            " split its loops."
        ),
    ),
    "step_on_half_a_sum": (
        ("block",),
        say(
            "Block {block} is neither a complete block nor a reduction block. decompose_reduction"
            " makes such blocks: one begins the sum, the other only adds to it."
        ),
        say("If decompose_reduction stands above this line, call it behind this line."),
    ),
    "step_moves_output": (
        ("block",),
        say("Block {block} writes an output of the function."),
        say(
            "Inline or move another block: compute_inline and compute_at are for blocks that a"
            " later block reads. reverse_compute_inline and reverse_compute_at are for blocks that"
            " read an earlier one."
        ),
    ),
    "step_decomposes_inside": (
        ("loop", "block"),
        say("A reduction loop of block {block} stands outside loop {loop}."),
        say("Give decompose_reduction the outermost of the reduction loops, or one outside them."),
    ),
    "step_loops_not_nested": (
        (),
        say("The loops do not stand inside one another."),
        say("Reorder only loops of one block: get them anew with sch.get_loops(block)."),
    ),
    "step_on_gone": (
        ("what",),
        say("This variable refers to a {what} that an earlier step has replaced."),
        say(
            "Use the loops that split, fuse or loop_partition return, or read them anew:"
            " sch.get_loops(sch.get_sblock(name))."
        ),
    ),
    "step_blocks_outside": (
        ("block",),
        say("Block {block}, which uses the same buffer, does not stand inside that loop."),
        say("Choose a loop that block stands in, or move that block first."),
    ),
}
"""Names of what the error names, why TVM refuses, what to do."""


_THINGS: Mapping[str, Text] = {"block": say("block"), "loop": say("loop")}


def explain_step(known: KnownError) -> tuple[Text, Text]:
    """Return why TVM refuses a step of a schedule and what to do; nothing for other errors."""
    if known.kind not in _EXPLANATIONS:
        return NOTHING, NOTHING
    names, why, remedy = _EXPLANATIONS[known.kind]
    if known.kind == "step_on_gone":
        return say(why, what=_THINGS[known.names[0]]), remedy
    values = {name: shown(value) for name, value in zip(names, known.names, strict=True)}
    return say(why, **values), remedy


def advice_on_step(known: KnownError) -> Text:
    """Return both in a row, for an error on its own; nothing for other errors."""
    return join(*explain_step(known))
