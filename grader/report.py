"""The report of one submission: one JSON document, from which every other output is rendered.

The schema is versioned (`schema_version`) and documented in docs/report.md. Text fields are plain
text for a student; nothing in them is markup, and no path of the grading machine is in them.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

SCHEMA_VERSION: Literal[1] = 1

Verdict = Literal["passed", "partial", "failed", "not_graded"]
NodeKind = Literal["input", "constant", "tir", "extern", "operator", "function"]
Dialect = Literal["current", "2022", "2023-24", "2025"]


class Frozen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the report's value objects."""


class Check(Frozen, frozen=True):
    """One check: points, and the reason and next step where points were lost."""

    id: str
    title: str
    score: float
    max_score: float
    verdict: Verdict
    reason: str
    hint: str = ""


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


class Part(Frozen, frozen=True):
    """One part of the assignment, with its checks. `origin` is None if nothing was found.

    `graph` is that of the graded module's `main`, None where there is none.
    """

    id: str
    title: str
    score: float
    max_score: float
    checks: tuple[Check, ...]
    origin: Origin | None = None
    graph: Graph | None = None


class CellProblem(Frozen, frozen=True):
    """A cell that ended in an error: `cell` counts code cells from 1, `line` is the line in it.

    Lines are those of the text that was handed in; of a script or Markdown, those of the file.
    `hint` says what to do where a limit of the sandbox was met.
    """

    cell: int
    error: str
    message: str
    line: int | None = None
    hint: str = ""


class ShapeTiming(Frozen, frozen=True):
    """The schedule at one batch size. Times are in microseconds per call: medians, and over the
    places of the stack their geometric mean.

    `ratios` are the unscheduled function's times over the submission's, one for each round that
    counts, in the order of measuring. `floor_us` is the least time that the machine could take:
    `flops` operations at its peak rate, or `bytes` at its bandwidth. `library_us` is PyTorch's
    function, None where that was not measured.
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


class Timing(Frozen, frozen=True):
    """The measured schedule.

    `speedup` is the unscheduled function's time over the submission's: the median of the rounds'
    ratios, the geometric mean over `shapes`, with its 95 % bootstrap interval. `reference_speedup`
    is the same for the assignment's reference schedule. `share` is the logarithm of the one over
    that of the other, with its own interval: 0 is the unscheduled time, 1 the reference's; it
    decides about points. `pairs` are the rounds that count, `rejected` those that were disturbed.
    `clock` is "processor" where a single thread's processor time was taken. `peak_gflops` and
    `bandwidth_gbs` are what `threads` threads on `cpus` can reach (10**9 operations, bytes a
    second).
    """

    function: str
    workload: str
    target: str
    threads: int
    cpus: tuple[int, ...]
    clock: Literal["wall", "processor"]
    shapes: tuple[ShapeTiming, ...]
    speedup: float
    ci_low: float
    ci_high: float
    reference_speedup: float
    share: float
    share_low: float
    share_high: float
    pairs: int
    rejected: int
    self_test: SelfTest
    peak_gflops: float
    bandwidth_gbs: float
    notes: tuple[str, ...] = ()


class Submission(Frozen, frozen=True):
    """The file that was graded. `cells` counts code cells, `executed` those that ran to the end.

    `starts` are the lines of a script or Markdown file on which its cells begin, from 1; there are
    none of a notebook.
    """

    name: str
    sha256: str
    cells: int = 0
    executed: int = 0
    starts: tuple[int, ...] = ()


class AssignmentId(Frozen, frozen=True):
    """Which assignment it was, and which version of it."""

    slug: str
    title: str
    version: int


class Data(Frozen, frozen=True):
    """The images and parameters that were used. `images` counts test images that were compared."""

    name: str
    images: int
    hidden: int
    detail: str = ""


class SandboxFacts(Frozen, frozen=True):
    """The isolation that was in force, strongest first: strong, basic, minimal, none."""

    level: str
    detail: str = ""


class Environment(Frozen, frozen=True):
    """What the grading ran on. `packages` maps a distribution's name to its version."""

    python: str
    cpu: str
    cores: int
    packages: dict[str, str]


class Duration(Frozen, frozen=True):
    """Wall time in seconds: in all, and by stage."""

    total: float
    stages: dict[str, float] = {}


class Report(Frozen, frozen=True):
    """All verdicts of one submission. `notes` are sentences that concern the whole submission.

    `language` is what its sentences are written in. `dialect` says which spelling of TVM's names
    the notebook is in: today's, or that of which years.
    """

    score: float
    max_score: float
    assignment: AssignmentId
    submission: Submission
    parts: tuple[Part, ...]
    problems: tuple[CellProblem, ...]
    notes: tuple[str, ...]
    timing: Timing | None
    data: Data
    sandbox: SandboxFacts
    environment: Environment
    seed: int
    duration: Duration
    language: str = "en"
    dialect: Dialect = "current"
    schema_version: Literal[1] = SCHEMA_VERSION


def encode_report(report: Report) -> bytes:
    """Return the report as indented JSON, ending in a newline.

    Half of a surrogate pair, as in a file name that is no UTF-8, becomes a question mark.
    """
    try:
        document = msgspec.json.encode(report)
    except UnicodeEncodeError:
        document = msgspec.json.encode(_encodable(msgspec.to_builtins(report)))
    return msgspec.json.format(document, indent=2) + b"\n"


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value


def decode_report(document: bytes) -> Report:
    """Read a report back. Raises msgspec.DecodeError for what is none."""
    try:
        return msgspec.json.decode(document, type=Report)
    except (UnicodeDecodeError, RecursionError) as error:  # a key that is not UTF-8
        raise msgspec.DecodeError(str(error)) from None


def ungraded_report(name: str, note: str, environment: Environment) -> Report:
    """Return the report of a file that could not be graded: no parts, no points, and why."""
    return Report(
        score=0.0,
        max_score=0.0,
        assignment=AssignmentId(slug="", title="", version=0),
        submission=Submission(name=name, sha256=""),
        parts=(),
        problems=(),
        notes=(note,),
        timing=None,
        data=Data(name="", images=0, hidden=0),
        sandbox=SandboxFacts(level=""),
        environment=environment,
        seed=0,
        duration=Duration(total=0.0),
    )
