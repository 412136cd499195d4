"""The report of one submission: one JSON document, from which every other output is rendered.

The schema is versioned (`schema_version`) and documented in docs/report.md. Text fields are plain text for
a student; nothing in them is markup, and no path of the grading machine is in them.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SCHEMA_VERSION = 1

Verdict = Literal["passed", "partial", "failed", "not_graded"]


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
    """Where the graded object came from: the name it had and the code cell it was built in (from 1)."""

    name: str
    cell: int


class Part(Frozen, frozen=True):
    """One part of the assignment, with its checks. `origin` is None when there was nothing to grade."""

    id: str
    title: str
    score: float
    max_score: float
    checks: tuple[Check, ...]
    origin: Origin | None = None


class CellProblem(Frozen, frozen=True):
    """A cell that ended in an error: `cell` counts code cells from 1, `line` is the line in that cell."""

    cell: int
    error: str
    message: str
    line: int | None = None


class Timing(Frozen, frozen=True):
    """The measured schedule. Times are medians in microseconds per call.

    `speedup` is the unscheduled function's time over the submission's (median of the rounds' ratios) with
    its 95 % bootstrap interval; `reference_speedup` the same for the assignment's reference schedule.
    `pairs` are the rounds that count, `rejected` those that were disturbed.
    """

    function: str
    workload: str
    target: str
    threads: int
    baseline_us: float
    submission_us: float
    reference_us: float
    speedup: float
    ci_low: float
    ci_high: float
    reference_speedup: float
    pairs: int
    rejected: int


class Submission(Frozen, frozen=True):
    """The file that was graded. `cells` counts its code cells, `executed` those that ran to their end."""

    name: str
    sha256: str
    cells: int = 0
    executed: int = 0


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
    """The isolation that was in force, from strongest: strong, container, basic, minimal, none."""

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
    """All verdicts of one submission. `notes` are sentences that concern the whole submission."""

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
    schema_version: int = SCHEMA_VERSION


def encode_report(report: Report) -> bytes:
    """Return the report as indented JSON, ending in a newline."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def decode_report(document: bytes) -> Report:
    """Read a report back. Raises msgspec.ValidationError for another schema."""
    return msgspec.json.decode(document, type=Report)
