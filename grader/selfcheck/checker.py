"""The process that checks parts of a live notebook: the referee's judgement, on data found here."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from itertools import repeat
from pathlib import Path
from typing import cast

import msgspec

from grader.assignment import Assignment, DataNeeds
from grader.course import Course, CourseAssignment, load_course, recognise
from grader.course_folder import folder_of_notebook
from grader.data import DataSet, resolve_data
from grader.data.dataset import IMAGES, LABELS, Paths, builtin_parameters, read_files
from grader.data.parameters import (
    KNOWN,
    Parameters,
    accepted_names,
    decode_parameters,
    pickle_arrays,
)
from grader.errors import DataError, GraderError, SandboxError, UsageError
from grader.evidence.runners import RunnerPool
from grader.grading.assembly import entries_of, runner_starter
from grader.grading.needs import expected_runners
from grader.grading.preparation import Preparation, Settings
from grader.grading.referee import Referee
from grader.inside.launcher.protocol import Program
from grader.language import Text, join, one_of_ours, say
from grader.measurement.measure import Machine, measuring_cpus
from grader.messages.frames import decode_payload, encode_frame, read_frame
from grader.messages.kernel import Capture, CaptureFailure
from grader.progress import Progress, Silent
from grader.reading.submission import SubmissionFile, read_submission
from grader.report import Part
from grader.report.texts import encoder
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command, Level, Process, Sandbox
from grader.sandbox.start import SteppingSandbox
from grader.selfcheck.messages import (
    FRAME_LIMIT,
    AssignmentCard,
    Checked,
    CheckParts,
    FindAssignment,
    FromChecker,
    PartCard,
    Refused,
    ToChecker,
)
from grader.selfcheck.public import complete, hidden_points, published, restrict, undecided

IMAGE_FOLDERS = ("data", ".")
"""Where notebooks have torchvision put its folder FashionMNIST."""


def notebook_data(needs: DataNeeds, folder: Path, environment: Mapping[str, str]) -> DataSet:
    """Return the data to compare on. Raises DataError.

    GRADER_DATA decides, where it is set. Otherwise the parameters are those that the notebook
    opens: with others, a right model would look wrong.
    """
    if needs.dataset == "none" or environment.get("GRADER_DATA"):
        return resolve_data(needs, directory=None, environment=environment, progress=Silent())
    parameters = _parameters(folder, needs.parameters) if needs.parameters else None
    images = _images(folder)
    if images is not None and (parameters is not None or not needs.parameters):
        data = read_files(images, "", say("from-notebooks-folder"))
    else:
        data = resolve_data(needs, directory=None, environment=environment, progress=Silent())
    if parameters is None:
        return data
    return msgspec.structs.replace(data, parameters=parameters, parameter_file=needs.parameters)


def _images(folder: Path) -> Paths | None:
    for name in IMAGE_FOLDERS:
        files = [_plain_or_packed(folder / name / path) for path in (IMAGES, LABELS)]
        images, labels = files
        if images is not None and labels is not None:
            return Paths(images, labels, None)
    return None


def _plain_or_packed(path: Path) -> Path | None:
    return next((each for each in (path, path.with_suffix(".gz")) if each.is_file()), None)


def _parameters(folder: Path, name: str) -> Parameters | None:
    """Return the parameters of the file that the notebook opens, None where there is no file."""
    for each in accepted_names(name):
        path = folder / each
        if not path.is_file():
            continue
        content = path.read_bytes()
        try:
            return decode_parameters(content, each, name)
        except DataError:
            if name in KNOWN and content == pickle_arrays(builtin_parameters(name)):
                return builtin_parameters(name)
            raise
    return None


MOST_IMAGES = 500
"""Test images that are compared at most: a check is to take seconds."""

Captures = tuple[Capture | CaptureFailure, ...]


class Checker:
    """One assignment at a time, with its answers; and the sandbox, which serves for all.

    `open_sandbox` raises SandboxError where there is none: then modules are read and not run.
    `prepared` is the assignment that was found last, `language` what was asked in last, None where
    that is not known.
    """

    def __init__(
        self, open_sandbox: Callable[[], SteppingSandbox], environment: Mapping[str, str]
    ) -> None:
        self._open_sandbox = open_sandbox
        self._environment = environment
        self._sandbox: SteppingSandbox | NoSandbox | None = None
        self.prepared: LivePreparation | None = None
        self.language: str | None = None

    def __enter__(self) -> Checker:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._sandbox is not None:
            self._sandbox.close()

    def find(self, request: FindAssignment) -> AssignmentCard:
        """Return the assignment that is asked for. Raises UsageError, CourseError."""
        self.language = request.language
        folder = Path(request.folder)
        course = load_course(folder_of_notebook(request.course, folder, self._environment))
        notebook = _read_notebook(request)
        if notebook is not None:
            self.language = request.language or notebook.declared_language
        chosen = _choose(course, request, notebook)
        hidden = hidden_points(chosen.assignment)
        chosen = msgspec.structs.replace(chosen, assignment=published(chosen.assignment))
        if self.prepared is None or not self.prepared.is_of(chosen, folder):
            settings = Settings(
                sandbox=self._open(), seed=secrets.randbits(48), environment=self._environment
            )
            self.prepared = LivePreparation(chosen, settings, folder, hidden)
        return self.prepared.card(one_of_ours(self.language))

    def check(self, request: CheckParts) -> Checked:
        """Judge parts of the assignment that was found last. Raises DataError."""
        prepared = self.prepared
        assert prepared is not None
        return _check(prepared, request)

    def _open(self) -> Sandbox:
        if self._sandbox is None:
            try:
                self._sandbox = self._open_sandbox()
            except SandboxError as error:
                self._sandbox = NoSandbox(error)
        return self._sandbox


class NoSandbox:
    """Stands for a sandbox on a machine that has none: nothing can be run."""

    level: Level = "none"

    def __init__(self, error: SandboxError) -> None:
        self._error = error

    @property
    def detail(self) -> Text:
        """Say why nothing can be run."""
        because = say("not-checked-because-modules-cannot-run-here")
        return join(because, self._error.message)

    def expect(self, *programs: Program) -> None:
        """Nothing is started."""

    def start(self, command: Command) -> Process:
        """Raise the error with which the sandbox could not be opened."""
        del command
        raise self._error

    def close(self) -> None:
        """Nothing was opened."""


class LivePreparation(Preparation):
    """An assignment, as far as it is published, made ready for the notebook in one folder.

    `hidden` are the points of its other parts.
    """

    def __init__(
        self, course_assignment: CourseAssignment, settings: Settings, folder: Path, hidden: float
    ) -> None:
        super().__init__(course_assignment, settings)
        self._folder = folder
        self._hidden = hidden
        self._more_images = 0

    def is_of(self, course_assignment: CourseAssignment, folder: Path) -> bool:
        """Say whether it is for this assignment and this folder."""
        return (self.course_assignment, self._folder) == (course_assignment, folder)

    def data(self, progress: Progress) -> DataSet:
        """Return the data that the notebook works with, not all of it. Raises DataError."""
        del progress
        with self._lock:
            if self._data is None:
                needs = self.course_assignment.assignment.data
                data = notebook_data(needs, self._folder, self.settings.environment)
                self._more_images = max(0, len(data.images) - MOST_IMAGES)
                self._data = msgspec.structs.replace(
                    data, images=data.images[:MOST_IMAGES], labels=data.labels[:MOST_IMAGES]
                )
            return self._data

    def card(self, language: str) -> AssignmentCard:
        """Return what a student may ask for, in a language."""
        assignment = self.course_assignment.assignment
        cards = zip(entries_of(self), assignment.part, strict=True)
        return AssignmentCard(
            slug=assignment.slug,
            title=assignment.title_in(language),
            language=language,
            parts=tuple(
                PartCard(entry, part.title_in(language), part.points) for entry, part in cards
            ),
        )

    def left_out(self) -> tuple[Text, ...]:
        """Return sentences that say on what a submission is compared and this notebook was not."""
        sentences = [say("not-checked-here-gradings-hidden-inputs")]
        if self._more_images:
            sentences.append(say("not-checked-here-more-test-images", count=self._more_images))
        if self._hidden:
            sentences.append(say("not-checked-here-hidden-parts-worth-points", points=self._hidden))
        return tuple(sentences)

    def compared_on(self) -> tuple[Text, ...]:
        """Return sentences that say on what, and behind which isolation, modules were run."""
        sandbox = self.settings.sandbox
        if isinstance(sandbox, NoSandbox):
            return ()
        isolation = say("isolation-sentence", level=sandbox.level)
        return self.data(Silent()).detail, join(isolation, sandbox.detail)


def _check(prepared: LivePreparation, request: CheckParts) -> Checked:
    sandbox, language = prepared.settings.sandbox, one_of_ours(request.language)
    whole = prepared.course_assignment.assignment
    made = restrict(whole, request.parts, runs=not isinstance(sandbox, NoSandbox))
    judged = _judge(prepared, made, request.captures)
    parts = [part for part in whole.part if part.id in request.parts]
    pairs = list(zip(parts, made.part, strict=True))
    return Checked(
        title=whole.title_in(language),
        language=language,
        parts=tuple(map(complete, parts, judged, repeat(sandbox.detail))),
        undecided=sum(undecided(part, kept) for part, kept in pairs),
        left_out=prepared.left_out(),
        compared=prepared.compared_on(),
    )


def _judge(
    prepared: LivePreparation, assignment: Assignment, captures: Captures
) -> tuple[Part, ...]:
    """Have the referee judge the parts of an assignment that nothing is timed in."""
    if not assignment.part:  # nothing of it is for students to check
        return ()
    chosen = msgspec.structs.replace(prepared.course_assignment, assignment=assignment)
    answers = prepared.answers(prepared.data(Silent()))
    start = runner_starter(prepared.settings.sandbox, assignment)
    with RunnerPool(start, assignment.limits.task_seconds) as runners:
        if any(isinstance(each, Capture) for each in captures):
            runners.expect(expected_runners(chosen))
        referee = Referee(
            chosen,
            answers.result(),
            runners,
            prepared.part_seeds(),
            Machine(measuring_cpus, limits=prepared.settings.limits),
            Silent(),
        )
        compared = referee.compare(captures)
    return tuple(graded[0].part for _, graded in compared)


def _read_notebook(request: FindAssignment) -> SubmissionFile | None:
    if request.notebook is None:
        return None
    try:
        return read_submission(Path(request.folder) / request.notebook)
    except UsageError:  # it was renamed, or the kernel does not run where the file is
        return None


def _choose(
    course: Course, request: FindAssignment, notebook: SubmissionFile | None
) -> CourseAssignment:
    """Return the assignment that was named, or the only one that fits. Raises UsageError."""
    declared = None if notebook is None else notebook.declared_assignment
    if request.slug is not None:
        return course.get(request.slug)
    if declared in course.assignments:
        return course.assignments[declared]
    fitting = {
        slug: each
        for slug, each in course.assignments.items()
        if request.part is None or any(request.part == part.id for part in each.assignment.part)
    }
    if len(fitting) == 1:
        return next(iter(fitting.values()))
    recognised = recognise(Course(course.root, fitting), frozenset(request.names))
    if recognised is not None:
        return recognised
    raise UsageError(
        say("notebook-does-not-say-which-assignment"),
        say("name-with-grader-use-slug-known", known=", ".join(sorted(course.assignments))),
    )


# The process that checks: it does for a live notebook what the referee does for a submission.


def serve(connection: socket.socket, checker: Checker) -> None:
    """Answer requests up to the end of the connection. What goes wrong becomes an answer, too."""
    while (payload := read_frame(connection, FRAME_LIMIT)) is not None:
        # mypy has no type for a union as a value
        request = decode_payload(payload, cast("type[ToChecker]", ToChecker))
        connection.sendall(
            encode_frame(_answer(checker, request), encoder(one_of_ours(checker.language)))
        )


def _answer(checker: Checker, request: ToChecker) -> FromChecker:
    try:
        if isinstance(request, FindAssignment):
            return checker.find(request)
        return checker.check(request)
    except GraderError as error:
        return Refused(error.message, error.hint, checker.language)
    except Exception as error:
        if "GRADER_DEBUG" in os.environ:
            raise
        return Refused(
            say("internal-error", error=type(error).__name__, message=str(error)),
            language=checker.language,
        )


def main(arguments: list[str]) -> None:
    """Serve the connection whose descriptor is the argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the kernel says when it is over
    with (
        socket.socket(fileno=int(arguments[0])) as connection,
        Checker(lambda: choose_sandbox(None, "none"), os.environ) as checker,
    ):
        serve(connection, checker)


if __name__ == "__main__":
    main(sys.argv[1:])
