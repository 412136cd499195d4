"""`assignment.toml` as a frozen value object: what is asked, for how many points, which limits.

Points, tolerances, anchors, limits and entry names live in that file and nowhere in code.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal

import msgspec

from grader.computation import ArgumentTable as ArgumentTable
from grader.computation import CaseTable as CaseTable
from grader.computation import Comparison as Comparison
from grader.computation import Computation as Computation
from grader.computation import OracleOptions as OracleOptions
from grader.computation import Points as Points
from grader.computation import Positive as Positive
from grader.computation import PositiveInt as PositiveInt
from grader.computation import Slug as Slug
from grader.computation import Table as Table
from grader.computation import TensorTable as TensorTable
from grader.environment import bound_names
from grader.language import Text, foreign
from grader.lateness import Counting, LatePolicy
from grader.report import Visibility
from grader.rubric import ManualTable, Titled
from grader.sandbox.interface import Level, ResourceLimits


def _twice(names: Iterable[str]) -> str:
    """Return the first name that is there a second time; "" where none is."""
    return next((name for name, count in Counter(names).items() if count > 1), "")


_CPU_SHARE = 4.0
"""Processor seconds for each second that a notebook may take, where the assignment says nothing."""


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

    def of_kernel(self) -> ResourceLimits:
        """Return what holds for the kernel; wall time is the referee's matter."""
        seconds = self.cpu_seconds or _CPU_SHARE * self.notebook_seconds
        return msgspec.structs.replace(
            self.resources(),
            open_files=self.open_files,
            files=self.files,
            cpu_seconds=math.ceil(seconds),
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


class CheckTable(Table, frozen=True):
    """One check of a part. `required` makes the others of the part worth nothing while it fails.

    `visibility` is what students are shown of it; None for what its part says. `withheld` says that
    this copy of the course lacks what decides it, as releases do (docs/ci.md).
    """

    id: Slug
    kind: str
    points: Points = 0.0
    required: bool = False
    options: dict[str, Any] = msgspec.field(default_factory=dict)
    visibility: Visibility | None = None
    withheld: bool = False


Entry = Annotated[str, msgspec.Meta(pattern=r"^(?!\d)[\w*?]+\Z")]
"""A name that a notebook may have: no cell defines `linear()`, and nobody would get its points."""

EntryKind = Literal["function", "module", "schedule", "space", "python", "importer", "pass"]


class PartTable(Titled, frozen=True, kw_only=True):
    """One part: the names that it is found by, and its checks in the order of the report.

    `entry_kind` says what bears one of the names in `entry`: a "function" that returns a module, a
    "module" itself, a "schedule", a "space", which makes a schedule of the module of the part
    `module_of`, a "python" function that computes with NumPy, an "importer", which is given a
    traced PyTorch model and its input shapes and returns a module, or a "pass", which is given such
    a model as a module and returns another one. Modules compute
    `computation`, or the model of `[oracle]` where there is none; then `main` takes the named
    `parameters` after the input. At most `samples` inputs are used: slow Python takes few. A
    `hidden` part is no part of what students can check themselves. `only_named`: a module under
    another name, which no Schedule made, is no answer. `visibility` is that of the checks that have
    none of their own.
    """

    id: Slug
    entry_kind: EntryKind
    entry: Annotated[tuple[Entry, ...], msgspec.Meta(min_length=1)]
    check: tuple[CheckTable, ...]
    externs: bool = False
    hidden: bool = False
    computation: Slug | None = None
    parameters: tuple[str, ...] = ()
    samples: PositiveInt | None = None
    only_named: bool = False
    visibility: Visibility = "visible"

    def __post_init__(self) -> None:
        if twice := _twice(check.id for check in self.check):
            raise ValueError(f"two checks of part {self.id} have the same id {twice}")
        if self.parameters and self.computation is not None:
            raise ValueError(f"part {self.id} has `parameters` and a computation of its own")

    @property
    def points(self) -> float:
        """Points of all checks."""
        return sum(check.points for check in self.check)

    @property
    def made(self) -> tuple[CheckTable, ...]:
        """The checks that are made here: others are withheld from this copy of the course."""
        return tuple(table for table in self.check if not table.withheld)

    def asks_for(self, name: str) -> bool:
        """Say whether something of this name may be the answer."""
        return any(fnmatchcase(name, pattern) for pattern in self.entry)

    def visibility_of(self, table: CheckTable) -> Visibility:
        """Return what students are shown of a check.

        The points of the others tell how a `required` check came out. Where that one is kept back,
        they are too, for as long.
        """
        own = table.visibility or self.visibility
        required = {each.visibility or self.visibility for each in self.check if each.required}
        return _narrowest({own, *(required & _KEPT_BACK)})


_KEPT_BACK: frozenset[Visibility] = frozenset({"after_due", "hidden"})


def _narrowest(wanted: set[Visibility]) -> Visibility:
    """Return what shows no more than any of these does, now or later."""
    if "hidden" in wanted or {"after_due", "score_only"} <= wanted:
        return "hidden"
    return next((each for each in ("after_due", "score_only") if each in wanted), "visible")


Word = Annotated[str, msgspec.Meta(pattern=r"^[^\W\d]\w*\Z")]
Pattern = Annotated[str, msgspec.Meta(pattern=r"^[*?]?[^\W\d][\w*?]*\Z")]

_MEANINGS = ("parameters", "batch_size", "input_shape", "image", "module")


class ArgumentNames(Table, frozen=True):
    """Names of an entry point's parameters, `*` and `?` allowed, by what they are given.

    They count where the notebook has nothing of that name. `parameters` are the dictionary of the
    assignment's file; `batch_size`, `input_shape` and `image` are of `batch` inputs of the
    `[oracle]`; `module` is what the notebook has for the part `module_of`.
    """

    batch: PositiveInt = 1
    module_of: str = ""
    parameters: tuple[Pattern, ...] = ()
    batch_size: tuple[Pattern, ...] = ()
    input_shape: tuple[Pattern, ...] = ()
    image: tuple[Pattern, ...] = ()
    module: tuple[Pattern, ...] = ()

    def __post_init__(self) -> None:
        every = [name for names in self.by_meaning().values() for name in names]
        if len({*every}) != len(every):
            raise ValueError("a name stands twice under [arguments]")

    def by_meaning(self) -> dict[str, tuple[str, ...]]:
        """Return the names by what they mean, without meanings that have none."""
        named = {each: getattr(self, each) for each in _MEANINGS}
        return {meaning: names for meaning, names in named.items() if names}

    def names(self) -> tuple[str, ...]:
        """Return all names that are no pattern."""
        every = (name for names in self.by_meaning().values() for name in names)
        return tuple(name for name in every if not {"*", "?"} & {*name})


class GuideTable(Table, frozen=True):
    """Where the course explains something: a heading of the assignment's notebook, or a URL.

    `about` are layers of PyTorch and mistakes (docs/diagnosis.md), `*` and `?` allowed; without
    any, it is about everything that no other entry is about. `part` are the parts that it is for,
    likewise; all of them if there are none. `headings` has the heading in other languages, by code.
    """

    heading: str = ""
    headings: dict[str, str] = msgspec.field(default_factory=dict)
    url: str = ""
    about: tuple[str, ...] = ()
    part: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.heading) == bool(self.url) or (self.url and self.headings):
            raise ValueError("an entry of [[guide]] has either a `heading` or a `url`")

    def is_for(self, part: str) -> bool:
        """Say whether it is for a part."""
        return not self.part or any(fnmatchcase(part, pattern) for pattern in self.part)

    @property
    def link(self) -> Text:
        """The address, or the heading in all of its languages."""
        return foreign(self.url or self.heading, self.headings)


class Assignment(Titled, frozen=True, kw_only=True):
    """An assignment, complete. `part` is plural in meaning: TOML's [[part]] tables in order.

    `manual` are the parts that a person marks; they come after the others. `points` has both.
    `watch` are words that the report mentions where the code of a submission has them. `due` is
    when it is to be handed in, with its offset from UTC. `guide` says where the course's texts
    explain layers and mistakes. `withheld` are the points of hidden parts that this copy of the
    course lacks. `preamble` are the imports that the assignment's own notebook begins with.
    `arguments` says what entry points are given. `late` is what lateness costs, nothing where there
    is none; `counts` says which attempt of a student does. Both are for the gradebook.
    """

    slug: Slug
    version: PositiveInt
    points: Positive
    part: Annotated[tuple[PartTable, ...], msgspec.Meta(min_length=1)]
    manual: tuple[ManualTable, ...] = ()
    oracle: OracleOptions | None = None
    computation: tuple[Computation, ...] = ()
    data: DataNeeds = DataNeeds()
    limits: Limits = Limits()
    sandbox: SandboxNeeds = SandboxNeeds()
    watch: tuple[Word, ...] = ()
    due: datetime | None = None
    guide: tuple[GuideTable, ...] = ()
    withheld: Points = 0.0
    preamble: str = ""
    arguments: ArgumentNames = ArgumentNames()
    late: LatePolicy | None = None
    counts: Counting = "best"

    def __post_init__(self) -> None:
        bound_names(self.preamble)
        if self.due is not None and self.due.utcoffset() is None:
            raise ValueError("`due` needs its offset from UTC, as in 2026-12-01T23:59:00+01:00")
        if self.data.dataset == "none" and self.data.parameters:
            raise ValueError("`parameters` under [data] need a data set")
        total = self.graded_points + sum(part.points for part in self.manual)
        if abs(total - self.points) > 1e-9:
            what = "checks and manual parts" if self.manual else "checks"
            raise ValueError(
                f"the {what} add up to {total:g} points, `points` says {self.points:g}"
            )
        if twice := _twice(self.part_ids):
            raise ValueError(f"two parts have the same id {twice}")
        self._check_computations()

    @property
    def graded_points(self) -> float:
        """The points that a grading gives, without those that a person does."""
        return sum(part.points for part in self.part)

    @property
    def part_ids(self) -> tuple[str, ...]:
        """The ids of all parts, in order."""
        return (*(part.id for part in self.part), *(part.id for part in self.manual))

    def _check_computations(self) -> None:
        known = {each.id: each for each in self.computation}
        if twice := _twice(each.id for each in self.computation):
            raise ValueError(f"two computations have the same id {twice}")
        for number, part in enumerate(self.part):
            at = f" - at `$.part[{number}].computation`"
            if part.computation is None and self.oracle is None:
                raise ValueError(f"a part needs a `computation`, for there is no [oracle]{at}")
            if part.computation is not None and part.computation not in known:
                ids = ", ".join(known) or "none"
                raise ValueError(f"there is no computation {part.computation}: there is {ids}{at}")
            model = known[part.computation].model if part.computation is not None else ""
            if (part.entry_kind in ("importer", "pass")) != bool(model):
                raise ValueError(
                    f"part {part.id}: an importer or a pass, and nothing else, computes a `model`"
                )

    def guide_to(self, part: str, subjects: tuple[str, ...]) -> GuideTable | None:
        """Return where one of the subjects of a part is explained, None where nowhere.

        `subjects` are mistakes and layers, what is looked for first before the others.
        """
        entries = [each for each in self.guide if each.is_for(part)]
        for subject in filter(None, subjects):
            for each in entries:
                if any(fnmatchcase(subject, pattern) for pattern in each.about):
                    return each
        return next((each for each in entries if not each.about), None)

    def comparison(self, part: PartTable) -> Comparison:
        """Return what the outputs of a part are compared by."""
        for each in self.computation:
            if each.id == part.computation:
                return each
        assert self.oracle is not None  # __post_init__ has seen to it
        return self.oracle
