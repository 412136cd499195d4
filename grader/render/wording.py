"""Numbers, foreign text, and sentences on a part, as all output formats write them.

Names and error messages in a report come from a student's notebook. They are plain text: what would
move a terminal's cursor, change its colours or turn the direction of writing is taken out here.
"""

import re
import unicodedata
from collections.abc import Mapping

from grader.language import Text, join, say
from grader.render.speech import tell
from grader.report import (
    CellProblem,
    Diagnosis,
    NodeKind,
    Origin,
    Part,
    Report,
    Sample,
    Step,
    StepStatus,
    Verdict,
)

LONGEST_TEXT = 4000
"""Characters of one foreign text that are shown at most."""

_ESCAPE_SEQUENCE = re.compile(
    r"""
    (?: \x1b\[ | \x9b ) [0-?]* [ -/]* [@-~]            # CSI: colours, cursor
  | (?: \x1b[\]PX^_] | [\x90\x98\x9d-\x9f] )          # OSC, DCS, SOS, PM, APC: titles, links, ...
    [^\x07\x1b\x9c\n]* (?: \x07 | \x1b\\ | \x9c )?  # ... up to their end
  | \x1b [ -/]* [0-~]                                  # sequences of two characters
    """,
    re.VERBOSE,
)
_LINE_END = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_JOINERS = "\u200c\u200d"
_INVISIBLE = frozenset({"Cc", "Cf"})


def plain(text: str | Text, characters: int = LONGEST_TEXT, lines: int = LONGEST_TEXT) -> str:
    """Return a text, or foreign words, as printable plain text, lines separated by newlines.

    Escape sequences, control characters and marks that turn the direction of writing are taken out;
    half of a surrogate pair, and what Unicode says is no character, become U+FFFD. Tabs become
    spaces. What is longer than `characters` or `lines` is cut there and ends in an ellipsis.
    """
    whole = text if isinstance(text, str) else tell(text)
    cut = _LINE_END.sub("\n", _ESCAPE_SEQUENCE.sub("", whole[:characters])).expandtabs(4)
    table = {ord(character): _printable(character) for character in set(cut)}
    printable = cut.translate(table).strip("\n").rstrip()
    rows = printable.split("\n")
    if len(rows) > lines:
        return "\n".join([*rows[:lines], "…"])
    return printable + " …" if len(whole) > characters else printable


def _printable(character: str) -> str:
    if character == "\n" or character in _JOINERS:
        return character
    category = unicodedata.category(character)
    if category == "Cs" or _is_noncharacter(ord(character)):
        return "\ufffd"
    return "" if category in _INVISIBLE else character


def _is_noncharacter(code: int) -> bool:
    """Say whether Unicode has set a code aside, never to be a character (section 23.7)."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF


def one_line(text: str | Text, characters: int = LONGEST_TEXT) -> str:
    """Return foreign text as `plain` does, on one line."""
    return " ".join(plain(text, characters).split())


MARKS: Mapping[Verdict | StepStatus, str] = {
    "passed": "✓", "partial": "~", "failed": "✗", "not_graded": "–",
    "right": "✓", "unknown": "~", "wrong": "✗", "follows": "–",
}  # fmt: skip
"""Marks of checks, and of a module's steps."""

STATUSES: Mapping[StepStatus, Text] = {
    "right": say("as-in-pytorch"),
    "unknown": say("not-layer-own-in-pytorch"),
    "wrong": say("first-that-departs"),
    "follows": say("after-it"),
}

NODE_KINDS: Mapping[NodeKind, str | Text] = {
    "tir": "TensorIR",
    "extern": say("external"),
    "operator": say("operator"),
    "function": say("relax-function"),
    "input": say("input"),
    "constant": say("constant"),
}
"""What nodes of a graph are called."""

STEPS_BEFORE, STEPS_AFTER = 8, 4
"""Steps that are listed at most before the first to depart, and after it."""

ERROR_LINES = 12
ERROR_CHARACTERS = 800
"""How much of a cell's error message is shown at most."""

MOST_PROBLEMS = 20
"""Most failed cells that are listed; a notebook may have thousands."""


def error_of(problem: CellProblem) -> str:
    """Return as much of a cell's error message as a list of failed cells has."""
    return plain(problem.message, ERROR_CHARACTERS, ERROR_LINES)


def more_problems(report: Report) -> str:
    """Say how many failed cells a list of them leaves out; nothing where it has all."""
    more = len(report.problems) - MOST_PROBLEMS
    return tell("and-count-more", count=more) if more > 0 else ""


_CODE = re.compile(r"`([^`\n]+)`")

MOST_SPANS = 20
"""Pieces of code that are set as such in one text."""


def spans(text: str) -> list[tuple[bool, str]]:
    """Return the pieces of a sentence, and whether each is code: it stands between backquotes."""
    pieces = _CODE.split(text, maxsplit=MOST_SPANS)
    return [(place % 2 == 1, piece) for place, piece in enumerate(pieces) if piece]


def points(value: float) -> str:
    """Return points with at most two decimals and no trailing zeros: 40, 37.5, 33.33."""
    return f"{round(value, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def signed_points(change: float) -> str:
    """Return by how much points change: +2, -0.5."""
    return f"{'-' if change < 0 else '+'}{points(abs(change))}"


def points_of(score: float, maximum: float) -> str:
    """Return "37.5 of 40"."""
    return tell("score-maximum", score=points(score), maximum=points(maximum))


def reached(score: float, most: float) -> str:
    """Return points of a report: 7.5 of 10 points."""
    unit = say("point") if most == 1 else say("score-maximum-points")
    return tell(unit, score=points(score), maximum=points(most))


def points_of_part(part: Part) -> str:
    """Return "37.5 of 40", of a part that a person marks "10 not marked yet"."""
    if part.open and not part.max_score:
        return not_marked(part.open)
    return points_of(part.score, part.max_score)


def not_marked(open: float) -> str:
    """Return "10 not marked yet"; nothing where no points are open."""
    return tell("points-not-marked-yet", points=points(open)) if open else ""


def counted(number: int, one: Text, many: Text) -> str:
    """Say the one message of a count of one, the other one of any other; both have `count`."""
    return tell(one if number == 1 else many, count=number)


def seconds(value: float) -> str:
    """Say a wall time: 0.42 s, 12.3 s, 2 min 5 s."""
    if value < 1:
        return tell("s-2", seconds=value)
    if value < 59.95:
        return tell("seconds-s", seconds=value)
    minutes, rest = divmod(round(value), 60)
    return tell("min-s", minutes=minutes, seconds=rest)


def microseconds(value: float) -> str:
    """Return a time of one call with about four digits: 0.8512 µs, 85.12 µs, 1,234 µs."""
    whole_digits = len(str(int(value))) if value >= 1 else 0
    return f"{value:,.{max(4 - whole_digits, 0)}f} µs"


def factor(value: float) -> str:
    """Return a ratio with two decimals: 2.31."""
    return f"{value:.2f}"


def built(origin: Origin, starts: tuple[int, ...]) -> str:
    """Say what was graded, and where it was built: `starts` are the lines of a script's cells."""
    name, cell = one_line(origin.name), origin.cell
    if not 0 < cell <= len(starts):
        return tell("graded-built-in-code-cell", name=name, cell=cell)
    return tell(
        "graded-built-in-code-cell-which-begins", name=name, cell=cell, line=starts[cell - 1]
    )


def taken_for(sample: Sample) -> str:
    """Say what an image shows, and what it is taken for."""
    label, predicted, pytorch = (
        class_name(sample, place) for place in (sample.label, sample.predicted, sample.pytorch)
    )
    shown = say("test-image-shows", place=sample.place, label=label)
    if sample.predicted == sample.pytorch:
        both = say("your-model-and-pytorch-both-say", name=predicted)
        return tell(join(shown, both))
    told = say("your-model-says-pytorch", predicted=predicted, pytorch=pytorch)
    return tell(join(shown, told))


def class_name(sample: Sample, place: int) -> str:
    """Return the name of a class, or its number where it has none."""
    known = 0 <= place < len(sample.classes)
    return one_line(sample.classes[place]) if known else str(place)


def shape(extents: tuple[int, ...]) -> str:
    """Return a shape as Python writes it: (4, 10), (4,)."""
    return str(tuple(extents))


def layer_there(diagnosis: Diagnosis, step: Step) -> str:
    """Return what PyTorch does at the first step that departs, with its shape if it is another."""
    is_other = diagnosis.wanted is not None and diagnosis.wanted != step.shape
    wanted = shape(diagnosis.wanted or ()) if is_other else ""
    return " ".join(filter(None, (one_line(diagnosis.layer), wanted)))


def is_told(part: Part) -> bool:
    """Say whether a check's reason says already what the part's diagnosis does."""
    return any(check.tells_diagnosis for check in part.checks)


# What each mistake is called where many students' are counted: the same for all who made it.
#
# What one student is told has that student's numbers in it
# (`grader/diagnosis/mistake_messages.py`).


MISTAKE_NAMES: Mapping[str, Text] = {
    "": say("no-mistake-recognised"),
    "kernel_flipped": say("filters-flipped"),
    "kernel_transposed": say("rows-and-columns-filters-exchanged"),
    "padding": say("convolution-has-another-padding"),
    "convolution_stride": say("convolution-has-another-stride"),
    "dilation": say("convolution-has-another-dilation"),
    "pooling_kind": say("pooling-takes-another-number-each-window"),
    "pooling_stride": say("pooling-has-another-stride"),
    "pooling_padding": say("pooling-has-another-padding"),
    "pooling_dilation": say("pooling-has-another-dilation"),
    "pooling_size": say("pooling-has-other-windows"),
    "weight_not_transposed": say("weight-not-transposed"),
    "transposed": say("matrix-transposed-and-should"),
    "result_transposed": say("result-transposed-and-should"),
    "operands_swapped": say("arguments-product-exchanged"),
    "index_fixed": say("only-first-matrix-batch-read"),
    "reduction_too_short": say("sum-leaves-out-first-or-last-term"),
    "initialised_in_every_round": say("sum-restarts-in-every-round"),
    "operation_in_every_round": say("operation-done-in-every-round-of-sum"),
    "sum_not_initialised": say("sum-begins-with-whatever-memory-holds"),
    "bias_missing": say("bias-missing"),
    "bias_twice": say("bias-added-twice"),
    "bias_in_every_round": say("bias-added-in-every-round-sum"),
    "bias_subtracted": say("bias-subtracted-should-added"),
    "bias_first_item": say("first-number-bias-added-everywhere"),
    "bias_differs": say("another-vector-than-bias-added"),
    "bias_extra": say("vector-added-that-does-not-belong-there"),
    "bias_axis": say("bias-goes-along-another-axis-than-should"),
    "operand_missing": say("operand-missing"),
    "operand_twice": say("operand-added-itself"),
    "subtracted": say("operands-subtracted-they-should-added"),
    "scaled": say("all-numbers-too-large-or-too-small"),
    "multiplied": say("operands-multiplied-they-should-added"),
    "added_to_columns": say("vector-added-along-columns-should-added-along"),
    "relu_missing": say("relu-missing"),
    "relu_extra": say("there-relu-too-many"),
    "relu_in_every_round": say("relu-applied-in-every-round-sum"),
    "relu_inverted": say("what-positive-cut-off-should-what-negative"),
    "relu_absolute": say("signs-dropped-negative-numbers-should-become"),
    "softmax_missing": say("softmax-missing"),
    "softmax_extra": say("there-softmax-too-many"),
    "softmax_axis": say("softmax-goes-along-another-axis"),
    "softmax_of_all": say("softmax-goes-over-all-numbers-should-go"),
    "softmax_logarithm": say("logarithm-softmax"),
    "softmax_not_divided": say("exponentials-not-divided-by-their-sum"),
    "softmax_without_exponential": say("scores-divided-by-their-sum-without-exponential"),
    "flatten_order": say("axes-exchanged-before-they-put-in-row"),
    "layer_left_out": say("layer-left-out"),
    "layer_repeated": say("layer-done-twice"),
    "order_swapped": say("two-layers-exchanged"),
    "other_operand": say("takes-another-value-than-should"),
    "outputs_swapped": say("outputs-in-wrong-order"),
    "other_step_returned": say("another-step-than-last-one-returned"),
    "constant_swapped": say("another-layers-parameter-used"),
    "constant_zero": say("parameter-0-everywhere"),
    "not_written": say("external-function-does-not-write-into-output"),
    "partly_written": say("some-numbers-never-written"),
    "partly_right": say("most-numbers-right-and-some"),
    "zeros": say("all-numbers-0"),
    "input_returned": say("input-returned-unchanged"),
    "low_precision": say("computes-with-less-precision-than-float32"),
    "padding_one_side": say("padding-on-one-side-only"),
    "other_activation": say("another-activation-computed"),
    "mean_axis": say("mean-or-sum-goes-along-another-axis"),
    "sum_for_mean": say("sum-and-mean-exchanged"),
    "mean_taken_off": say("mean-subtracted-before"),
    "added": say("operands-added-they-should-subtracted"),
    "exchanged": say("operands-subtracted-other-way-round"),
    "overflows": say("large-numbers-overflow-infinity"),
    "negated": say("value-has-opposite-sign"),
    "reversed": say("numbers-in-reverse-order-along-last-axis"),
    "clamp_range": say("numbers-clamped-wrong-range"),
    "wrong_index": say("buffer-read-at-wrong-index"),
    "wrong_operator": say("statement-computes-with-wrong-operator"),
    "wrong_operand": say("statement-takes-wrong-operand"),
    "operand_left_out": say("argument-function-never-read"),
    "arguments_exchanged": say("two-arguments-function-exchanged"),
    "axis_binding": say("axis-block-bound-wrong-loop"),
    "short_axis": say("axis-of-block-too-short"),
    "other_extent": say("result-has-another-extent"),
    "sum_start": say("sum-does-not-begin"),
    "wrong_terms": say("terms-of-sum-are-wrong"),
    "largest_for_sum": say("largest-or-smallest-term-taken-for-sum"),
    "schedule_step": say("step-schedule-changes-what-computed"),
}
"""By the names of `MistakeKind`, and one for where a module departs in no way that is known."""
