"""One submission after the other, graded beside others: what can be graded has a report, and what
cannot has one that says why. A batch on this machine goes through here, and a worker of a cluster.
"""

import threading
import traceback
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from grader.course import Chooser, Course, CourseAssignment, choose_assignment, who_chose
from grader.environment import describe_environment
from grader.errors import DisplacedError, GraderError, told_failure
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.language import Text, join, say
from grader.machine.quiet import Quiet, TimingLock
from grader.progress import Progress
from grader.reading.submission import SubmissionFile
from grader.report import Report, ungraded_report
from grader.sandbox.interface import Sandbox
from grader.sandbox.room import CrowdedSandbox, RevocableSandbox, Room

Grade = Callable[[SubmissionFile, Preparation], Report]


class Attempt(NamedTuple):
    """What came of a submission: its report, who chose the assignment, None where nobody did, and
    which assignment it was or would have been.
    """

    report: Report
    chooser: Chooser | None
    slug: str


class Own(NamedTuple):
    """What one grading has for itself, so that it can be ended without the others."""

    sandbox: RevocableSandbox
    timing_lock: TimingLock


class Attempts:
    """Grades submissions of one course, which share data and answers."""

    def __init__(self, course: Course, demanded: str | None, settings: Settings) -> None:
        """`settings` have the sandbox as it is for a submission that has the machine alone."""
        self.course = course
        self.demanded = demanded
        self._alone = settings
        self._settings = replace(settings, sandbox=CrowdedSandbox(settings.sandbox))
        self._preparations: dict[str, Preparation] = {}
        self._lock = threading.Lock()

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that all of them share."""
        return self._alone.sandbox

    def prepare(self, chosen: CourseAssignment) -> Preparation:
        """Return what all gradings of an assignment share."""
        with self._lock:
            slug = chosen.assignment.slug
            if slug not in self._preparations:
                self._preparations[slug] = Preparation(chosen, self._settings)
            return self._preparations[slug]

    def attempt(self, name: str, read: Callable[[], SubmissionFile], grade_it: Grade) -> Attempt:
        """Grade a submission, or say in its report why that was not possible.

        `name` is its file's, `read` reads it, and `grade_it` is `grade` with whatever else is due.
        """
        slug = "" if self.demanded not in self.course.slugs else str(self.demanded)
        try:
            submission = read()
            chosen, _ = choose_assignment(self.course, submission, self.demanded)
            slug = chosen.assignment.slug
            report = grade_it(submission, self.prepare(chosen))
            return Attempt(report, who_chose(submission, chosen.assignment, self.demanded), slug)
        except GraderError as error:
            reason = join(error.message, error.hint)
        except Exception as error:  # noqa: BLE001  the others shall be graded all the same
            if "GRADER_DEBUG" in self._settings.environment:
                traceback.print_exc()
            reason = say("internal-error-grade-again-with-grader-debug", error=told_failure(error))
        return Attempt(ungraded_report(name, reason, describe_environment()), None, slug)

    def grade(
        self,
        submission: SubmissionFile,
        prepared: Preparation,
        stages: Progress,
        own: Own | None = None,
    ) -> Report:
        """Grade a submission beside others, or alone if there was no room for it beside them.

        `own` stands in place of what all share. Raises GraderError as `grade` does.
        """
        _, note = choose_assignment(self.course, submission, self.demanded)
        notes: tuple[Text, ...] = (note,) if note else ()
        if own is not None:
            data = prepared.data(stages)  # first what all share: a copy makes its own of the rest
            prepared.basis(data), prepared.handout()
            if submission.notebook is not None:
                prepared.answers(data)
            sandbox = CrowdedSandbox(own.sandbox)
            crowded = replace(self._settings, sandbox=sandbox, timing_lock=own.timing_lock)
            prepared = prepared.with_settings(crowded)
        try:
            return grade(submission, prepared, stages, notes)
        except DisplacedError:
            alone = self._alone if own is None else replace(self._alone, **own._asdict())
            return self._grade_alone(submission, prepared, stages, notes, alone)

    def _grade_alone(
        self,
        submission: SubmissionFile,
        prepared: Preparation,
        stages: Progress,
        notes: tuple[Text, ...],
        alone: Settings,
    ) -> Report:
        """Grade once more, with nothing beside it: what it is ended for now is its own doing.

        The others wait meanwhile. It takes no turn among them: it has all of them.
        """
        with self._settings.quiet.exclusive():
            lock = alone.timing_lock.joining()
            settings = replace(alone, quiet=Quiet(), room=Room(), timing_lock=lock)
            return grade(submission, prepared.with_settings(settings), stages, notes)
