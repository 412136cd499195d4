"""The main line: from a submission to its report, on one page.

What runs a notebook and judges it is imported where that is done: with it comes PyTorch, which
takes seconds, and what cannot be read is told without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from nbformat import NotebookNode

from grader.evidence.case import Problem
from grader.execute.result import Execution
from grader.grading.account import Results, make_report
from grader.grading.judge import judge_problem
from grader.grading.machine_faults import refuse_missing_compiler
from grader.grading.preparation import Preparation, Settings
from grader.grading.spelling import Spelling, find_respelling, respell
from grader.language import Text, say
from grader.machine.quiet import Turn
from grader.messages.kernel import Capture, CaptureFailure
from grader.progress import Progress
from grader.reading.submission import SubmissionFile
from grader.report import Duration, Report

if TYPE_CHECKING:
    from grader.execute.captures import Taken
    from grader.grading.referee import Compared


class Stages:
    """Wall seconds by stage, in the order in which they were run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure the body of a with statement; what was measured of the stage before is added."""
        start = self._clock()
        try:
            yield
        finally:
            earlier = self.seconds.get(name, 0.0)
            self.seconds[name] = round(earlier + self._clock() - start, 3)

    def duration(self) -> Duration:
        """Return the time since the start, and the stages."""
        return Duration(round(self._clock() - self._start, 3), dict(self.seconds))


_UNTIMED = Turn(is_alone=False)


def grade(
    submission: SubmissionFile,
    prepared: Preparation,
    progress: Progress,
    notes: tuple[Text, ...] = (),
) -> Report:
    """Grade one submission. May be called from several threads with the same preparation.

    Raises GraderError when nothing could be graded for a reason that is not the submission's:
    DisplacedError when the machine had no memory left for it beside others, MachineError when it
    lacks a compiler that the submission needs.
    """
    stages = Stages(prepared.settings.clock)
    with stages.measure("data"):
        data = prepared.data(progress)
    if submission.notebook is None:
        problem = Problem(submission.problem, submission.hint, code="unreadable")
        assignment = prepared.course_assignment.assignment
        parts = tuple(judge_problem(part, problem) for part in assignment.part)
        results: Results = (parts, None)
        execution = None
    else:
        execution, results, turn = run_parts(submission, prepared, progress, stages)
        notes += (turn.note,) if turn.note else ()
    report = make_report(submission, prepared, data, results, execution, notes, stages.duration())
    refuse_missing_compiler(report, execution)
    return report


def run_parts(
    submission: SubmissionFile,
    prepared: Preparation,
    progress: Progress,
    stages: Stages,
) -> tuple[Execution, Results, Turn]:
    """Run the notebook while answers and runners are made ready; then grade its parts.

    Only timing has the machine alone. Nothing of this grading runs while it waits for that.
    """
    settings, course_assignment = prepared.settings, prepared.course_assignment
    settings.sandbox.expect("kernel", "runner")  # they import while this process does
    from grader.grading.assembly import building_ahead, lost_cells, make_referee, open_runners
    from grader.grading.needs import expected_runners
    from grader.grading.referee import has_timing

    with stages.measure("notebook"):  # nobody waits for the spelling of a long one
        notebook, starts = submission.notebook, submission.starts
        spelling = respell(notebook, submission.respelling, starts, settings.dialect)
    with open_runners(prepared) as runners:
        with settings.quiet.shared():
            runners.expect(expected_runners(course_assignment))
            answers = prepared.answers(prepared.data(progress))
            with stages.measure("notebook"), building_ahead(prepared, answers, runners) as taken:
                progress.stage(say("running-notebook"))
                execution = _run(spelling, prepared, progress, taken)
            with stages.measure("parts"):
                referee = make_referee(prepared, answers.result(), runners, progress)
                lost = lost_cells(execution, prepared)
                compared = referee.compare(execution.captures, lost, execution.written)
                is_timed = has_timing(compared)
                if is_timed:
                    referee.compile_timed(compared)
        alone = turn_to_time(settings, progress) if is_timed else nullcontext(_UNTIMED)
        with alone as turn, stages.measure("parts"):
            timed = referee.time(compared)
    # Comparing what was timed computes for seconds: others go on beside it, but are not timed.
    judging = settings.quiet.shared() if is_timed else nullcontext()
    with judging, stages.measure("parts"):
        return execution, referee.judge(timed), turn


def run_notebook(notebook: NotebookNode, prepared: Preparation, progress: Progress) -> Execution:
    """Run a notebook in the student kernel, and return what was captured.

    Raises UsageError when its spelling is not accepted.
    """
    found = find_respelling(notebook)
    spelling = respell(notebook, found, accepted=prepared.settings.dialect)
    return _run(spelling, prepared, progress)


def _run(
    spelling: Spelling, prepared: Preparation, progress: Progress, taken: Taken | None = None
) -> Execution:
    from grader.execute.kernel import KernelOrder
    from grader.execute.notebook import execute_notebook
    from grader.grading.assembly import entries_of

    assignment = prepared.course_assignment.assignment
    memory = assignment.limits.resources().memory
    with prepared.settings.room.taken(f"{assignment.slug} notebook", memory) as stay:
        order = KernelOrder(
            sandbox=prepared.settings.sandbox,
            entries=entries_of(prepared),
            files=prepared.data(progress).staged_files(),
            limits=assignment.limits,
            compatibility=spelling.is_old,
            preamble=assignment.preamble,
            is_preamble_run=prepared.settings.preamble,
        )
        execution = execute_notebook(spelling.notebook, order, progress, taken)
        stay.peak = execution.peak
    return spelling.own_words(execution)


def compare_captures(
    captures: tuple[Capture | CaptureFailure, ...], prepared: Preparation, progress: Progress
) -> Compared:
    """Judge all parts on everything but time, as `grade` does it, for nobody to mend."""
    from grader.grading.assembly import make_referee, open_runners

    answers = prepared.answers(prepared.data(progress)).result()
    with open_runners(prepared) as runners, prepared.settings.quiet.shared():
        return make_referee(prepared, answers, runners, progress).compare(captures, mends=False)


@contextmanager
def turn_to_time(settings: Settings, progress: Progress) -> Iterator[Turn]:
    """Have the turn to time: among the gradings of this process, and on the machine.

    Who has this process alone never waits for the machine: its other gradings would stand still,
    and one of them may have the machine's turn. So where others time now, the machine's turn comes
    first, and meanwhile this process grades on.
    """

    def tell() -> None:
        minutes = settings.timing_lock.patience / 60
        progress.stage(
            say("waiting-for-another-gradings-timing-minutes", minutes=math.ceil(minutes)),
            waits=True,
        )

    with settings.quiet.exclusive(), settings.timing_lock.turn_at_once() as turn:
        if turn is not None:
            yield turn
            return
    with settings.timing_lock.turn(tell) as turn, settings.quiet.exclusive():
        yield turn
