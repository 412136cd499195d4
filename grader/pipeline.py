"""The main line: from a submission to its report, on one page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

from nbformat import NotebookNode

from grader.assignment import Assignment, PartTable
from grader.course import CourseAssignment
from grader.data import DataSet
from grader.environment import describe_environment
from grader.execute.notebook import execute_notebook
from grader.execute.result import Execution
from grader.language import retell, say, speaking, spoken
from grader.machine.lock import Turn
from grader.messages import Capture, CaptureFailure, EntrySpec, ModelSpec
from grader.preparation import Preparation, Settings
from grader.progress import Progress
from grader.referee.answers import Answers
from grader.referee.bench import Arrays, Machine, measuring_cpus
from grader.referee.evidence import Problem
from grader.referee.judge import judge_problem
from grader.referee.library import LibraryTime, measure_library
from grader.referee.referee import (
    Compared,
    Referee,
    expected_runners,
    has_timing,
    timing_threads,
)
from grader.referee.runner_client import Runner, start_runner, start_timing_runner
from grader.referee.runners import Kind, RunnerPool
from grader.report import (
    AssignmentId,
    Data,
    Duration,
    Part,
    Report,
    SandboxFacts,
    Submission,
    Timing,
)
from grader.sandbox.interface import Sandbox
from grader.spelling import Spelling, respell
from grader.submission import SubmissionFile, first_cell_with

Results = tuple[tuple[Part, ...], "Timing | None"]

_UNTIMED = Turn(is_alone=False)


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


def grade(
    submission: SubmissionFile,
    prepared: Preparation,
    progress: Progress,
    notes: tuple[str, ...] = (),
) -> Report:
    """Grade one submission. May be called from several threads with the same preparation.

    Raises GraderError when nothing could be graded for a reason that is not the submission's.
    """
    language = prepared.settings.language or submission.declared_language
    with speaking(language):
        return _grade(submission, prepared, progress, tuple(map(retell, notes)))


def _grade(
    submission: SubmissionFile, prepared: Preparation, progress: Progress, notes: tuple[str, ...]
) -> Report:
    stages = Stages(prepared.settings.clock)
    with stages.measure("data"):
        data = prepared.data(progress)
    if submission.notebook is None:
        problem = Problem(submission.problem, submission.hint)
        assignment = prepared.course_assignment.assignment
        parts = tuple(judge_problem(part, problem) for part in assignment.part)
        results: Results = (parts, None)
        execution = None
    else:
        execution, results, turn = run_parts(submission, prepared, progress, stages)
        notes += _divided(submission)
        notes += (turn.note,) if turn.note else ()
        notes += _watched(submission, prepared.course_assignment.assignment)
    return _report(submission, prepared, data, results, execution, notes, stages.duration())


def _divided(submission: SubmissionFile) -> tuple[str, ...]:
    """Say of a script or Markdown what its cells are: who wrote it has never seen them."""
    cells = len(submission.starts)
    if not cells:
        return ()
    return (
        say(
            "The file was run as {cells} code cells, one after the other; the lines that are named"
            " are those of the file.",
            cells=cells,
        ),
    )


def _watched(submission: SubmissionFile, assignment: Assignment) -> tuple[str, ...]:
    """Say where the code has a word that the instructor wants to be told of."""
    found = [(word, first_cell_with(word, submission.sources)) for word in assignment.watch]
    return tuple(
        say(
            "Code cell {cell} uses `{word}`. That costs no points here; an instructor should look"
            " whether the assignment allows it.",
            cell=cell,
            word=word,
        )
        for word, cell in found
        if cell is not None
    )


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
    with open_runners(prepared) as runners:
        with settings.quiet.shared():
            with stages.measure("notebook"):
                spelling = respell(submission.notebook, settings.dialect)
            runners.expect(expected_runners(course_assignment))
            answers = prepared.answers(prepared.data(progress))
            with stages.measure("notebook"):
                progress.stage("running the notebook")
                execution = _run(spelling, prepared, progress)
            with stages.measure("parts"):
                referee = _referee(prepared, answers.result(), runners, progress)
                compared = referee.compare(execution.captures)
        alone = _alone(settings, progress) if has_timing(compared) else nullcontext(_UNTIMED)
        with alone as turn, stages.measure("parts"):
            return execution, referee.time(compared), turn


def run_notebook(notebook: NotebookNode, prepared: Preparation, progress: Progress) -> Execution:
    """Run a notebook in the student kernel, and return what was captured.

    Raises UsageError when its spelling is not accepted.
    """
    return _run(respell(notebook, prepared.settings.dialect), prepared, progress)


def _run(spelling: Spelling, prepared: Preparation, progress: Progress) -> Execution:
    execution = execute_notebook(
        spelling.notebook,
        sandbox=prepared.settings.sandbox,
        entries=entries_of(prepared),
        files=prepared.data(progress).staged_files(),
        limits=prepared.course_assignment.assignment.limits,
        progress=progress,
        compatibility=spelling.is_old,
    )
    return spelling.own_words(execution)


def compare_captures(
    captures: tuple[Capture | CaptureFailure, ...], prepared: Preparation, progress: Progress
) -> Compared:
    """Judge all parts on everything but time, as `grade` does it."""
    answers = prepared.answers(prepared.data(progress)).result()
    with open_runners(prepared) as runners, prepared.settings.quiet.shared():
        return _referee(prepared, answers, runners, progress).compare(captures)


def open_runners(prepared: Preparation) -> RunnerPool:
    """Return a pool of runners with the assignment's limits."""
    assignment = prepared.course_assignment.assignment
    start = runner_starter(prepared.settings.sandbox, assignment)
    return RunnerPool(start, assignment.limits.task_seconds)


def _referee(
    prepared: Preparation, answers: Answers, runners: RunnerPool, progress: Progress
) -> Referee:
    return Referee(
        prepared.course_assignment,
        answers,
        runners,
        prepared.part_seeds(),
        _machine(prepared.settings, prepared.course_assignment),
        progress,
    )


@contextmanager
def _alone(settings: Settings, progress: Progress) -> Iterator[Turn]:
    """Have the turn to time: among the gradings of this process first, then on the machine."""

    def tell() -> None:
        progress.stage("waiting for another grading's timing")

    with settings.quiet.exclusive(), settings.timing_lock.turn(tell) as turn:
        yield turn


def _machine(settings: Settings, course_assignment: CourseAssignment) -> Machine:
    text = course_assignment.library()

    def time_library(variant: str, arrays: Arrays, cpus: tuple[int, ...]) -> LibraryTime | Problem:
        return measure_library(
            settings.sandbox, text or "", variant, arrays, cpus=cpus, threads=len(cpus)
        )

    return Machine(measuring_cpus, settings.pace, None if text is None else time_library)


def entries_of(prepared: Preparation) -> tuple[EntrySpec, ...]:
    """Return what the capture looks for, one for each part."""
    return tuple(
        EntrySpec(
            part.id,
            part.entry_kind,
            part.entry,
            holds="model" if part.computation is None else "function",
            model=_model(prepared, part),
        )
        for part in prepared.course_assignment.assignment.part
    )


def _model(prepared: Preparation, part: PartTable) -> ModelSpec | None:
    """Return the model that a part's importer is tried on."""
    assignment = prepared.course_assignment.assignment
    found = [each for each in assignment.computation if each.id == part.computation and each.model]
    if not found:
        return None
    shapes = tuple(each.shape for each in found[0].arguments)
    code = prepared.course_assignment.models()
    return ModelSpec(code, found[0].model, prepared.model_seed(), shapes)


def runner_starter(sandbox: Sandbox, assignment: Assignment) -> Callable[[Kind], Runner]:
    """Return what starts a runner of each kind, within an assignment's limits."""
    limits = assignment.limits.resources()

    def start(kind: Kind) -> Runner:
        if kind == "timing":
            return start_timing_runner(sandbox, limits, timing_threads(assignment))
        return start_runner(sandbox, kind, limits, {"TVM_NUM_THREADS": "1"})

    return start


def _report(
    submission: SubmissionFile,
    prepared: Preparation,
    data: DataSet,
    results: Results,
    execution: Execution | None,
    notes: tuple[str, ...],
    duration: Duration,
) -> Report:
    assignment, settings = prepared.course_assignment.assignment, prepared.settings
    parts, timing = results
    return Report(
        score=round(sum(part.score for part in parts), 6),
        max_score=assignment.points,
        assignment=AssignmentId(assignment.slug, assignment.title_in(spoken()), assignment.version),
        submission=_describe_submission(submission, execution),
        parts=parts,
        problems=execution.problems if execution is not None else (),
        notes=notes + (execution.notes if execution is not None else ()),
        timing=timing,
        data=Data(data.name, len(data.images), _hidden_inputs(assignment), retell(data.detail)),
        sandbox=SandboxFacts(settings.sandbox.level, retell(settings.sandbox.detail)),
        environment=describe_environment(),
        seed=settings.seed,
        duration=duration,
        language=spoken(),
        dialect="current" if execution is None else execution.dialect,
    )


def _hidden_inputs(assignment: Assignment) -> int:
    model = 0 if assignment.oracle is None else assignment.oracle.hidden_inputs
    return model + sum(each.cases for each in assignment.computation)


def _describe_submission(submission: SubmissionFile, execution: Execution | None) -> Submission:
    cells = execution.cells if execution is not None else 0
    executed = execution.executed if execution is not None else 0
    name, digest, starts = submission.name, submission.sha256, submission.starts
    return Submission(name, digest, cells, executed, starts)
