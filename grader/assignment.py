"""`assignment.toml` as a frozen value object: what is asked, for how many points, which limits.

Points, tolerances, anchors, limits and entry names live in that file and nowhere in code.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from grader.errors import CourseError
from grader.sandbox.interface import Level, ResourceLimits

Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
PositiveInt = Annotated[int, msgspec.Meta(gt=0)]
Points = Annotated[float, msgspec.Meta(ge=0, le=1e9)]
Slug = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_-]*\Z")]


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of the tables of an assignment file: a misspelt key is an error."""


class Limits(Table, frozen=True):
    """What a submission may use. Times are wall seconds, sizes are megabytes of 2**20 bytes.

    `cpu_seconds` of processor time are, if not given, four times `notebook_seconds`. `files` is how
    many files there may be in a folder that can be written to.
    """

    cell_seconds: Positive = 120.0
    notebook_seconds: Positive = 600.0
    task_seconds: Positive = 120.0
    memory_mb: PositiveInt = 4096
    scratch_mb: PositiveInt = 256
    processes: PositiveInt = 256
    open_files: PositiveInt = 1024
    files: PositiveInt = 20_000
    cpu_seconds: Positive | None = None
    output_mb: Positive = 8.0

    def resources(self) -> ResourceLimits:
        """Return, in bytes, what holds for the kernel and for every runner alike."""
        return ResourceLimits(
            memory=self.memory_mb * 2**20,
            scratch=self.scratch_mb * 2**20,
            processes=self.processes,
        )


class SandboxNeeds(Table, frozen=True):
    """The weakest isolation that a submission is run in (docs/security.md)."""

    minimum: Level = "basic"


class DataNeeds(Table, frozen=True):
    """Which images and parameters the assignment uses, and the names students open them by.

    Without a data set ("none") a submission is compared on hidden inputs alone.
    """

    dataset: Literal["fashion-mnist", "none"] = "fashion-mnist"
    parameters: str = ""


class OracleOptions(Table, frozen=True):
    """How outputs are compared: |actual - desired| <= atol + rtol * |desired|.

    `hidden_inputs` random inputs of `hidden_scale * randn` are drawn from the run's secret seed,
    beside the whole test set. `input_shape` is one sample's shape, without the batch.
    """

    input_shape: tuple[PositiveInt, ...]
    output_shape: tuple[PositiveInt, ...]
    rtol: Positive = 1e-4
    atol: Positive = 1e-5
    hidden_inputs: PositiveInt = 256
    hidden_scale: Positive = 0.1


class CheckTable(Table, frozen=True):
    """One check of a part. `required` makes the others of the part worth nothing while it fails."""

    id: Slug
    kind: str
    points: Points = 0.0
    required: bool = False
    options: dict[str, Any] = {}


class PartTable(Table, frozen=True):
    """One part: the names that it is found by, and its checks in the order of the report."""

    id: Slug
    title: str
    entry_kind: Literal["function", "schedule"]
    entry: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    check: tuple[CheckTable, ...]
    externs: bool = False

    def __post_init__(self) -> None:
        if len({check.id for check in self.check}) != len(self.check):
            raise ValueError(f"two checks of part {self.id} have the same id")

    @property
    def points(self) -> float:
        """Points of all checks."""
        return sum(check.points for check in self.check)


class Assignment(Table, frozen=True):
    """An assignment, complete. `part` is plural in meaning: TOML's [[part]] tables in order."""

    slug: Slug
    title: str
    version: PositiveInt
    points: Positive
    oracle: OracleOptions
    part: tuple[PartTable, ...]
    data: DataNeeds = DataNeeds()
    limits: Limits = Limits()
    sandbox: SandboxNeeds = SandboxNeeds()

    def __post_init__(self) -> None:
        if self.data.dataset == "none" and self.data.parameters:
            raise ValueError("`parameters` under [data] need a data set")
        total = sum(part.points for part in self.part)
        if abs(total - self.points) > 1e-9:
            raise ValueError(
                f"the checks add up to {total:g} points, `points` says {self.points:g}"
            )
        if len({part.id for part in self.part}) != len(self.part):
            raise ValueError("two parts have the same id")


def load_assignment(path: Path) -> Assignment:
    """Read `assignment.toml`. Raises CourseError, naming the file and the field."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Assignment)
    except OSError as error:
        raise CourseError(f"Cannot read {path}: {error.strerror}.", "Check the path.") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CourseError(
            f"{path} is not a valid assignment: {error}.", "See docs/assignment.md."
        ) from None
