"""Why TVM refuses a step of a schedule, and what to do instead.

`known_errors.py` reads the words of TVM's error; this is what is said about each kind.
"""

from collections.abc import Mapping

from grader.execute.known_errors import ErrorKind, KnownError
from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, join, say

_EXPLANATIONS: Mapping[ErrorKind, tuple[tuple[str, ...], Text, Text]] = {
    "step_on_reduction": (
        ("block",),
        say("loop-belongs-reduction-axis-block"),
        say("only-loop-spatial-axes-can-vectorized-bound"),
    ),
    "step_without_block": (
        ("block",),
        say("function-has-no-block"),
        say("print-names-blocks-with-sch-show"),
    ),
    "step_inlines_sum": (
        ("block",),
        say("block-reduction-and-reductions-cannot-inlined"),
        say("inline-only-blocks-that-compute-each-element"),
    ),
    "step_names_loop_twice": (
        ("loop",),
        say("loop-named-twice"),
        say("name-each-loop-once"),
    ),
    "step_factors_too_small": (
        ("loop",),
        say("product-factors-less-than-extent-loop"),
        say("write-none-for-one-factors-tvm-computes"),
    ),
    "step_loops_apart": (
        ("outer", "inner"),
        say("loop-does-not-stand-directly-inside-loop"),
        say("only-neighbouring-loops-can-fused-reorder-them"),
    ),
    "step_not_a_sum": (
        ("block",),
        say("block-has-no-t-init-no-reduction"),
        say("call-decompose-reduction-once-for-block-sum"),
    ),
    "step_on_half_a_sum": (
        ("block",),
        say("block-neither-complete-block-nor-reduction-block"),
        say("if-decompose-reduction-stands-above-this-line"),
    ),
    "step_moves_output": (
        ("block",),
        say("block-writes-output-function"),
        say("inline-or-move-another-block-compute-inline"),
    ),
    "step_decomposes_inside": (
        ("loop", "block"),
        say("reduction-loop-block-stands-outside-loop"),
        say("give-decompose-reduction-outermost-reduction-loops"),
    ),
    "step_loops_not_nested": (
        (),
        say("loops-do-not-stand-inside-one-another"),
        say("reorder-only-loops-one-block-get-them"),
    ),
    "step_on_gone": (
        ("what",),
        say("this-variable-refers-that-earlier-step-has"),
        say("use-loops-that-split-fuse-or-loop"),
    ),
    "step_blocks_outside": (
        ("block",),
        say("block-which-uses-same-buffer-does"),
        say("choose-loop-that-block-stands"),
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
