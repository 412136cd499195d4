"""What gradings of one assignment share: sandbox and seed, settings, data and answers.

A report that was written earlier says how a submission does as long as this is the same: the grader
and what it runs on, the files of the assignment, the data, the isolation. What the assignment's
rubric says beside (`grader.grading.rescoring`) is counted anew without a run.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
import numpy as np
import numpy.typing as npt

from grader import __version__
from grader.checks import kinds as registered
from grader.course import Course, CourseAssignment
from grader.data import DataSet, resolve_data
from grader.data.resolve import FolderPictures
from grader.decoding import prepared
from grader.environment import describe_environment, need_for_grading, slow_imports
from grader.evidence.runners import KnownAnswers
from grader.files import sweep
from grader.grading.rescoring import decided
from grader.grading.spelling import Accepted
from grader.machine.limits import demand_limits
from grader.machine.quiet import Quiet, TimingLock
from grader.measurement.library import LibraryTimes
from grader.measurement.limits import KnownLimits
from grader.progress import Progress
from grader.report import Environment
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import LEVELS, Level, Sandbox
from grader.sandbox.room import Room

if TYPE_CHECKING:
    from grader.evidence.answers import Answers
    from grader.sandbox.start import Launcher


# The cells of an assignment that students were given: those of the course's templates.


class _Cell(msgspec.Struct):
    source: str | list[str] = ""


class _Notebook(msgspec.Struct):
    cells: list[_Cell] = []


def as_given(source: str) -> str:
    """Return a cell's text as it is compared: editors change the spaces at the ends of lines."""
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def handout_cells(assignment: Path) -> frozenset[str]:
    """Return the cells of an assignment's templates in all languages, each as `as_given` has it.

    `assignment` is its folder. There are none where the course has no templates beside its
    `assignments/`, as where students were given something else; one that is damaged is passed over.
    """
    folder, slug = assignment.resolve().parents[1] / "templates", assignment.name
    paths = (folder / f"{slug}.ipynb", *sorted(folder.glob(f"{slug}.*.ipynb")))
    return frozenset(filter(None, map(as_given, (each for one in paths for each in _sources(one)))))


def _sources(path: Path) -> Iterator[str]:
    try:
        cells = msgspec.json.decode(path.read_bytes(), type=prepared(_Notebook)).cells
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return
    for cell in cells:
        yield cell.source if isinstance(cell.source, str) else "".join(cell.source)


_OWN = Path(__file__).resolve().parents[1]
_TELLING = frozenset({"authoring", "ci", "cli", "gradebook", "lms", "locale", "render"})
"""Packages of the grader that word and show a grade, and do not decide it."""


BasisPart = Literal["grader", "data", "assignment", "files"]
"""What decides: the grader with its packages and options, the data, `assignment.toml` but for what
is told or worth, and the files beside it."""

_PARTS: tuple[BasisPart, ...] = get_args(BasisPart)
_PART_LENGTH = 16


def changed_parts(before: str, after: str) -> tuple[BasisPart, ...]:
    """Return in what two digests of `grading_basis` differ."""
    places = (slice(at * _PART_LENGTH, (at + 1) * _PART_LENGTH) for at in range(len(_PARTS)))
    differs = (before[place] != after[place] for place in places)
    return tuple(part for part, is_other in zip(_PARTS, differs, strict=True) if is_other)


def grading_basis(
    chosen: CourseAssignment, data: DataSet, environment: Environment, *, preamble: bool = False
) -> str:
    """Return the digest, in hexadecimal, of what decides how submissions of an assignment do.

    It takes the contents of files and not their dates, so it is the same on a copy of a course. A
    course that is worked on without a new version still has another digest, but for its titles,
    points, visibility and due date. The isolation is not in it: a report says which it had. Each
    of its quarters is of one thing, so that two of them tell what has changed.
    """
    texts: dict[BasisPart, str] = {
        "grader": _of_grader(environment, preamble=preamble),
        "data": _data(data),
        "assignment": decided(chosen.assignment),
        "files": _files(chosen.folder, _deciding(chosen)),
    }
    digests = (hashlib.sha256(texts[part].encode()).hexdigest() for part in _PARTS)
    return "".join(digest[:_PART_LENGTH] for digest in digests)


def common_basis(data: DataSet, environment: Environment, *, preamble: bool = False) -> str:
    """Return what of that is no assignment's: grader, packages, data; as lines of text."""
    return f"{_of_grader(environment, preamble=preamble)}{_data(data)}\n"


def _of_grader(environment: Environment, *, preamble: bool) -> str:
    versions = [f"{name} {version}" for name, version in sorted(environment.packages.items())]
    how = "with preamble" if preamble else ""
    found = (__version__, environment.python, *versions, how, source_digest())
    return "".join(f"{text}\n" for text in found)


def _deciding(chosen: CourseAssignment) -> Iterator[Path]:
    """Yield the files that decide beside `assignment.toml`: of variants those of its own."""
    for path in chosen.folder.rglob("*"):
        first, *_ = path.relative_to(chosen.folder).parts
        is_its_own = chosen.variant is not None and path.is_relative_to(chosen.variant)
        if path.name != "assignment.toml" and (first != "variants" or is_its_own):
            yield path


@functools.cache
def source_digest() -> str:
    """Digest this package itself, in hexadecimal; its version may stay when it changes."""
    inside = (path for path in _OWN.rglob("*") if path.relative_to(_OWN).parts[0] not in _TELLING)
    return _files(_OWN, inside)


def _files(root: Path, paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in sorted(paths):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(root).as_posix()!r} {content}\n".encode())
    return digest.hexdigest()


def _data(data: DataSet) -> str:
    digest = hashlib.sha256(f"{data.name} {data.parameter_file!r}\n".encode())
    arrays: dict[str, npt.NDArray[Any]] = {
        "images": data.images,
        "labels": data.labels,
        **data.parameters,
    }
    for name, array in sorted(arrays.items()):
        digest.update(f"{name!r} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


assert registered.__all__  # a course's checks come after the built-in ones, which they may not hide


class Settings(msgspec.Struct, frozen=True):
    """What a grading depends on beside the submission and the assignment.

    `seed` decides all hidden inputs; `data` is a folder, "builtin" or None for the usual search;
    `language` is what students are spoken to in, None for the notebook's own. `dialect` says which
    notebooks are graded: those in every spelling of TVM, or in today's alone. `preamble` runs the
    assignment's imports before the first cell. `environment` is the
    process's, `clock` gives monotonic seconds, `now` the time of day with its zone.

    Gradings that run at the same time share one `quiet`, so that they do not disturb each other's
    measurements, one `timing_lock`, which gradings of other processes share too, one `limits`, so
    that they know how fast this machine can be, and one `library_times`. They share
    one `room` as well: the memory that is there for all; `known`, what runners have answered
    before; and `pictures`, what was read of a folder of data. `builds_ahead`: what a notebook has
    handed over is built while it goes on.
    """

    sandbox: Sandbox
    seed: int
    data: str | None = None
    language: str | None = None
    dialect: Accepted = "auto"
    preamble: bool = False
    environment: Mapping[str, str] = {}
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = partial(datetime.now, timezone.utc)
    quiet: Quiet = msgspec.field(default_factory=Quiet)
    timing_lock: TimingLock = msgspec.field(default_factory=TimingLock)
    limits: KnownLimits = msgspec.field(default_factory=KnownLimits)
    library_times: LibraryTimes = msgspec.field(default_factory=LibraryTimes)
    room: Room = msgspec.field(default_factory=Room)
    known: KnownAnswers = msgspec.field(default_factory=KnownAnswers)
    builds_ahead: bool = False
    pictures: FolderPictures | None = None


class Preparation:
    """An assignment made ready to grade any number of submissions, in any number of threads.

    Whoever first asks for the data or the answers begins to make them; the others get the same.
    Raises SandboxError where the shell's limits leave less than the assignment promises.
    """

    def __init__(self, course_assignment: CourseAssignment, settings: Settings) -> None:
        demand_limits(course_assignment.assignment.limits.of_kernel().promised())
        self.course_assignment = course_assignment
        course_assignment.load_checks()
        self.settings = settings
        self._lock = threading.Lock()
        self._data: DataSet | None = None
        self._answers: Future[Answers] | None = None
        self._basis = ""
        self._handout: frozenset[str] | None = None

    def data(self, progress: Progress) -> DataSet:
        """Return the data that submissions are compared on. Raises DataError."""
        with self._lock:
            if self._data is None:
                self._data = resolve_data(
                    self.course_assignment.assignment.data,
                    directory=self.settings.data,
                    environment=self.settings.environment,
                    progress=progress,
                    pictures=self.settings.pictures,
                )
            return self._data

    def basis(self, data: DataSet) -> str:
        """Return the digest of what decides a grade beside the submission and the seed."""
        with self._lock:
            if not self._basis:
                self._basis = grading_basis(
                    self.course_assignment,
                    data,
                    describe_environment(),
                    preamble=self.settings.preamble,
                )
            return self._basis

    def handout(self) -> frozenset[str]:
        """Return the cells that students were given, as a report knows them again."""
        with self._lock:
            if self._handout is None:
                self._handout = handout_cells(self.course_assignment.folder)
            return self._handout

    def answers(self, data: DataSet) -> Future[Answers]:
        """Begin to compute the answers in the background, unless somebody has."""
        from grader.evidence.answers import load_answers  # with PyTorch, which takes seconds

        with self._lock:
            if self._answers is None:
                executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="oracle")
                for_oracle, _ = self._seeds()
                self._answers = executor.submit(
                    load_answers, self.course_assignment, data, for_oracle
                )
                executor.shutdown(wait=False)  # its thread ends with the answers
            return self._answers

    def with_settings(self, settings: Settings) -> Preparation:
        """Return the same assignment, data and answers under other settings, with the same seed.

        `settings` have the same preamble: the digest of what decides a grade is kept, too.
        """
        other = Preparation(self.course_assignment, settings)
        with self._lock:
            other._data, other._answers = self._data, self._answers
            other._basis, other._handout = self._basis, self._handout
        return other

    def model_seed(self) -> int:
        """Return the seed of the models that importers are tried on."""
        from grader.evidence.answers import model_seed

        for_oracle, _ = self._seeds()
        return model_seed(for_oracle)

    def part_seeds(self) -> np.random.SeedSequence:
        """Return the seeds of everything that is drawn for a part; the same at every call."""
        _, for_parts = self._seeds()
        return for_parts

    def _seeds(self) -> list[np.random.SeedSequence]:
        # Made anew: a sequence counts what was spawned from it.
        return np.random.SeedSequence(self.settings.seed).spawn(2)


class GradingOptions(msgspec.Struct, frozen=True):
    """The arguments of every command that grades, as they were given."""

    assignment: str | None = None
    data: str | None = None
    seed: int | None = None
    course: Path | None = None
    sandbox: Level | None = None
    language: str | None = None
    dialect: Accepted = "auto"
    preamble: bool = False


@contextmanager
def open_settings(
    options: GradingOptions,
    course: Course,
    assignments: Iterable[CourseAssignment],
    own: Iterable[Path],
    launcher: Launcher | None = None,
) -> Iterator[Settings]:
    """Choose a sandbox that is strong enough for all of these assignments, and draw the seed.

    What is `own` to this grading, submissions and reports, is kept from submissions, as is the
    course. What earlier commands left that were killed is removed first. `launcher` is one of
    kernels that was begun before, and is to be used. Raises SandboxError when
    there is no such sandbox, UsageError where only the self-check is installed.
    """
    need_for_grading()
    sweep()
    assignments = tuple(assignments)
    needed = min((each.assignment.sandbox.minimum for each in assignments), key=LEVELS.index)
    protected = (*course.folders, *_data_folders(options.data, os.environ), *own)
    imports = slow_imports(each.assignment.preamble for each in assignments)
    with choose_sandbox(options.sandbox, needed, protected=protected, imports=imports) as sandbox:
        if launcher is not None:
            sandbox.adopt(launcher)
        yield settings_of(options, sandbox, drawn_seed(options))


def drawn_seed(options: GradingOptions) -> int:
    """Return the seed that was asked for, or a new one."""
    return secrets.randbits(48) if options.seed is None else options.seed


def settings_of(options: GradingOptions, sandbox: Sandbox, seed: int) -> Settings:
    """Return the settings of gradings by these options."""
    return Settings(
        sandbox=sandbox,
        seed=seed,
        data=options.data,
        language=options.language,
        dialect=options.dialect,
        preamble=options.preamble,
        environment=os.environ,
    )


def _data_folders(named: str | None, environment: Mapping[str, str]) -> list[Path]:
    folder = named or environment.get("GRADER_DATA", "")
    return [] if folder in ("", "builtin") else [Path(folder)]
