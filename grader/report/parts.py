"""What a report says of one part: its checks with their codes, its speed, what explains them."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import field

from grader.language import NOTHING, Text, say

Verdict = Literal["passed", "partial", "failed", "not_graded"]


class Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the report's value objects."""


def nothing() -> Text:
    """Return what a text is by default. A function, as the schema has no form for a value of it."""
    return NOTHING


class Paragraph(Frozen, frozen=True, tag="paragraph"):
    """Sentences."""

    text: Text


class Bar(Frozen, frozen=True):
    """A bar of a chart: what it is of, how long it is, and that number in words.

    `verdict` colours it; it is empty where a bar is neither good nor bad.
    """

    label: Text
    value: float
    text: Text
    verdict: Verdict | None = None


class Bars(Frozen, frozen=True, tag="bars"):
    """Bars from 0 on one scale. At `limit` stands a mark, of which `limit_text` says what it is."""

    bars: tuple[Bar, ...]
    limit: float | None = None
    limit_text: Text = field(default_factory=nothing)

    @property
    def most(self) -> float:
        """What the whole width stands for: the longest bar, or the limit. Never 0."""
        return max(1e-300, self.limit or 0.0, *(each.value for each in self.bars))


class Grid(Frozen, frozen=True, tag="grid"):
    """A table: what stands above its columns, and its rows. Names are foreign texts."""

    head: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]


class Listing(Frozen, frozen=True, tag="listing"):
    """Code as it is, with its lines."""

    code: str


Block = Paragraph | Bars | Grid | Listing


class Section(Frozen, frozen=True):
    """What a part's page shows of a kind of evidence.

    `figures` are the same facts for programs. `kind` is the folder of `grader/evidence/` that it
    is of, `explains` are the kinds of checks that are decided by it: a student sees the section who
    sees all of those. Both are filled in by whoever shows it.
    """

    title: Text
    blocks: tuple[Block, ...]
    figures: dict[str, int | float | str] = field(default_factory=dict)
    kind: str = ""
    explains: tuple[str, ...] = ()

    def explaining(self, kind: str, checks: tuple[str, ...]) -> Section:
        """Return the section of a kind of evidence, by which these kinds of checks are decided."""
        return msgspec.structs.replace(self, kind=kind, explains=checks)


CheckCode = Literal[
    "passed",
    "incomplete",
    "unmet",
    "values",
    "shape",
    "dtype",
    "not_finite",
    "unwritten",
    "slower",
    "absent",
    "unsolved",
    "raised",
    "unfinished_cell",
    "needs_arguments",
    "not_captured",
    "given",
    "unreadable",
    "refused",
    "signature",
    "not_built",
    "run_failed",
    "extern_failed",
    "out_of_bounds",
    "not_deterministic",
    "changed_inputs",
    "disturbed",
    "other_computation",
    "other_baseline",
    "time_limit",
    "crashed",
    "not_run",
    "untimed",
    "held",
    "waits",
    "withheld",
    "busy",
    "no_answer",
    "no_target",
    "undecided",
]
"""What came of a check, whatever its kind: docs/report.md says what each means.

A code is not the id of a sentence, because it has several: `signature` has one for each way to
miss the parameters.
"""

CellCode = Literal[
    "error",
    "memory",
    "disk",
    "file_size",
    "processes",
    "network",
    "descriptors",
    "missing_import",
    "loop_variable",
    "refused_module",
    "given_files",
    "no_compiler",
]
"""What an error of a cell has to do with: a limit of the sandbox, a habit, what the machine lacks,
or nothing known."""

MistakeKind = Literal[
    "kernel_flipped",
    "kernel_transposed",
    "padding",
    "convolution_stride",
    "dilation",
    "pooling_kind",
    "pooling_stride",
    "pooling_padding",
    "pooling_size",
    "pooling_dilation",
    "weight_not_transposed",
    "transposed",
    "result_transposed",
    "operands_swapped",
    "index_fixed",
    "reduction_too_short",
    "initialised_in_every_round",
    "operation_in_every_round",
    "sum_not_initialised",
    "bias_missing",
    "bias_twice",
    "bias_in_every_round",
    "bias_subtracted",
    "bias_first_item",
    "bias_differs",
    "bias_extra",
    "bias_axis",
    "operand_missing",
    "operand_twice",
    "subtracted",
    "scaled",
    "multiplied",
    "added_to_columns",
    "relu_missing",
    "relu_extra",
    "relu_in_every_round",
    "relu_inverted",
    "relu_absolute",
    "softmax_missing",
    "softmax_extra",
    "softmax_axis",
    "softmax_of_all",
    "softmax_logarithm",
    "softmax_not_divided",
    "softmax_without_exponential",
    "flatten_order",
    "layer_left_out",
    "layer_repeated",
    "order_swapped",
    "other_operand",
    "outputs_swapped",
    "other_step_returned",
    "constant_swapped",
    "constant_zero",
    "not_written",
    "partly_written",
    "partly_right",
    "zeros",
    "input_returned",
    "low_precision",
    "padding_one_side",
    "other_activation",
    "mean_axis",
    "sum_for_mean",
    "mean_taken_off",
    "added",
    "exchanged",
    "negated",
    "reversed",
    "clamp_range",
    "overflows",
    "schedule_step",
    "wrong_index",
    "wrong_operator",
    "wrong_operand",
    "operand_left_out",
    "sum_start",
    "axis_binding",
    "short_axis",
    "other_extent",
    "arguments_exchanged",
    "wrong_terms",
    "largest_for_sum",
]
"""A mistake by which a module differs from PyTorch: docs/diagnosis.md says how each looks.

A kind is not the id of a sentence, because it may have several: `padding` of a convolution and
`operand_missing` are told by their facts.
"""


NodeKind = Literal["input", "constant", "tir", "extern", "operator", "function"]
Visibility = Literal["visible", "after_due", "score_only", "hidden"]
"""What students are shown of a check: all of it, all of it once the assignment is due, its points
without the reason, or nothing."""
StepStatus = Literal["right", "unknown", "wrong", "follows"]


class Check(Frozen, frozen=True):
    """One check: points, and the reason and next step where points were lost.

    `visibility` is what students are shown of it, as the instructor chose. `kind` is what
    assignment.toml calls it; empty where that is not known. `again` says that it was not the
    submission that kept this from being decided: it has to be graded again. `tells_diagnosis` says
    that the reason has the message of the part's diagnosis in it. `code` says what came of it,
    apart from how the reason is worded; "undecided" where an earlier document does not say. `share`
    is what part of the check was reached before its points were rounded, above 1 for a bonus, None
    where that is not known; `interval` is the width of its interval where it was measured, and
    `above` how far that goes beyond the share, None where that is not known.
    """

    id: str
    title: Text
    score: float
    max_score: float
    verdict: Verdict
    reason: Text
    hint: Text = field(default_factory=nothing)
    visibility: Visibility = "visible"
    kind: str = ""
    again: bool = False
    tells_diagnosis: bool = False
    code: CheckCode = "undecided"
    share: float | None = None
    interval: float = 0.0
    above: float | None = None


class Origin(Frozen, frozen=True):
    """Where the graded object came from: its name and the code cell it was built in (from 1)."""

    name: str
    cell: int


class Node(Frozen, frozen=True):
    """One box of a graph: an input or a constant of `main`, or a call.

    `variable` is the name of what it gives, `callee` that of what is called. `shape` is None where
    the module leaves it open; an extent that it leaves open is its name. `dataflow` says that a
    call stands in a dataflow block.
    """

    kind: NodeKind
    variable: str
    callee: str = ""
    shape: tuple[int | str, ...] | None = None
    dtype: str = ""
    dataflow: bool = False


class Graph(Frozen, frozen=True):
    """The computational graph of `main`: its boxes in an order in which they can be computed.

    Nodes are named by their places: an edge goes from what gives a tensor to what takes it, and
    `output` is the node that `main` returns, None where it is none or several. `omitted` counts
    nodes that are left out because there are too many.
    """

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]
    output: int | None = None
    omitted: int = 0


class Step(Frozen, frozen=True):
    """One step of a module that was run beside PyTorch.

    `variable` is its name in `main` (a function's own name where there is no `main`), `callee` what
    computes it, `shape` the shape of its value. `layer` is the layer of PyTorch whose value it has,
    or empty. "right" steps have a value of PyTorch's, "unknown" ones have another value that right
    steps are computed from, the one "wrong" step is the first to depart, the rest "follows" it.
    """

    variable: str
    callee: str
    shape: tuple[int, ...]
    status: StepStatus
    layer: Text = field(default_factory=nothing)


class Diagnosis(Frozen, frozen=True):
    """Where a module first departs from PyTorch: its `wrong`-th step, counted from 0.

    `layer` is what PyTorch does there, and `wanted` the shape of its value, None where none is
    known. `mistake` names the mistake that explains the value (docs/diagnosis.md lists them), empty
    where none was recognised. `message` says all of this in a sentence, `advice` what to do, and
    `link` leads into the course's texts, empty where there is none.
    """

    steps: tuple[Step, ...]
    wrong: int
    layer: Text
    wanted: tuple[int, ...] | None
    mistake: MistakeKind | Literal[""]
    message: Text
    advice: Text
    link: Text = field(default_factory=nothing)


class Sample(Frozen, frozen=True):
    """One image of the public test set, and what became of it.

    `image` is a PNG in base64, `place` its number in the test set. `classes` are the names of the
    classes; `label` is the right one, `predicted` what the submission says, `pytorch` what PyTorch
    says, all as places in it. `scores` and `pytorch_scores` have a number for each class; None
    stands for one that is not finite.
    """

    place: int
    image: str
    classes: tuple[str, ...]
    label: int
    predicted: int
    pytorch: int
    scores: tuple[float | None, ...]
    pytorch_scores: tuple[float, ...]


class Scripts(Frozen, frozen=True):
    """A function as TVMScript: before the submission's schedule, and after it."""

    function: str
    before: str
    after: str


class Part(Frozen, frozen=True):
    """One part of the assignment, with its checks. `origin` is None if nothing was found.

    `graph` is that of the graded module's `main`, None where there is none. `diagnosis` is there
    where its outputs differ and it could be run beside PyTorch, `sample` where they are scores of
    images, `scripts` where a schedule was replayed. `contested` says that another candidate is
    better in some check, so that it might count under other points. `sections` show what kinds of
    evidence with folders of their own have found (`grader/evidence/`).

    `open` are points that a person gives, and that nobody has given yet: neither `score` nor
    `max_score` has them. `answer` are the places of what they are given for among the report's
    cells, from 0.
    """

    id: str
    title: Text
    score: float
    max_score: float
    checks: tuple[Check, ...]
    origin: Origin | None = None
    graph: Graph | None = None
    diagnosis: Diagnosis | None = None
    sample: Sample | None = None
    scripts: Scripts | None = None
    contested: bool = False
    open: float = 0.0
    answer: tuple[int, ...] = ()
    sections: tuple[Section, ...] = ()


class ShapeTiming(Frozen, frozen=True):
    """The schedule at one batch size. Times are in microseconds per call: the quickest at each
    place of the stack, and over these places the geometric mean.

    `ratios` are the unscheduled function's times over the submission's, the quickest of each
    portion of slices, by the places of the stack. `floor_us` is the least time that the machine
    could take: `flops` operations at its peak rate, or `bytes` at its bandwidth. `library_us` is
    PyTorch's function, None where that was not measured.
    """

    batch: int
    baseline_us: float
    submission_us: float
    reference_us: float
    speedup: float
    reference_speedup: float
    ratios: tuple[float, ...]
    flops: int
    bytes: int
    floor_us: float
    library_us: float | None = None


class SelfTest(Frozen, frozen=True):
    """The unscheduled function against itself: `ratio` should be 1, and `low` to `high` hold it."""

    ratio: float
    low: float
    high: float
    pairs: int


class StepLine(Frozen, frozen=True):
    """A line of a cell, both from 1, in which a step of a schedule was done, and its text."""

    cell: int
    line: int
    text: str


StepChange = Literal["faster", "slower", "regained", "equal", "wrong", "failed"]


class StepSpeed(Frozen, frozen=True):
    """What steps in a row brought: `factor` is the time before them over that after them, from
    `low` to `high` (95%), all 1 where there is none. `kinds` are the steps as a notebook calls
    them, `lines` where they were done, as far as that is known.

    "equal": the interval contains 1. "regained": slower, but a later step makes the function at
    least as fast as it was before, as `vectorize` does after the `reorder` that prepares it.
    "wrong": after them, values were not PyTorch's, and "failed": the function could not be built or
    run; the steps are in the next factor, too.
    """

    kinds: tuple[str, ...]
    lines: tuple[StepLine, ...]
    change: StepChange
    factor: float = 1.0
    low: float = 1.0
    high: float = 1.0


class StepSpeeds(Frozen, frozen=True):
    """What each step of a proven schedule brought, beside the same function without any.

    `speedup` is that of all steps, with its interval. `idle` are steps that left the code as it
    was. `reason` says why there are no `steps`, empty where there are.
    """

    steps: tuple[StepSpeed, ...]
    speedup: float = 1.0
    low: float = 1.0
    high: float = 1.0
    idle: tuple[str, ...] = ()
    reason: Text = field(default_factory=nothing)


UNSETTLED = say("core-was-never-free")


class Timing(Frozen, frozen=True):
    """The measured schedule.

    `speedup` is the unscheduled function's time over the submission's, the geometric mean over
    `shapes`, with its 95% bootstrap interval. `reference_speedup`
    is the same for the assignment's reference schedule. `share` is the logarithm of the one over
    that of the other, with its own interval: 0 is the unscheduled time, 1 the reference's; it
    decides about points. `part` is the id of the part that it is of: of several that are timed the
    first. `pairs` are the blocks that count. `peak_gflops` and
    `bandwidth_gbs` are what `threads` threads on `cpus` can reach (10**9 operations, bytes a
    second). `clock` is "processor" where a single thread's processor time was taken, as of
    functions that are always interrupted. `rejected` are rounds that earlier graders dropped.
    `steps` is what each step brought, None where that was not asked or there are none.
    """

    function: str
    workload: str
    target: str
    threads: int
    cpus: tuple[int, ...]
    shapes: tuple[ShapeTiming, ...]
    speedup: float
    ci_low: float
    ci_high: float
    reference_speedup: float
    share: float
    share_low: float
    share_high: float
    pairs: int
    self_test: SelfTest
    peak_gflops: float
    bandwidth_gbs: float
    notes: tuple[Text, ...] = ()
    part: str = ""
    clock: Literal["wall", "processor"] = "wall"
    rejected: int = 0
    steps: StepSpeeds | None = None

    @property
    def is_settled(self) -> bool:
        """Say whether the core was free while times were measured."""
        return UNSETTLED not in self.notes
