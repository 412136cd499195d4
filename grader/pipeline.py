"""The main line: from a submission to its report, on one page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import msgspec
import numpy as np

from grader.assignment import Assignment
from grader.course import CourseAssignment
from grader.data import DataSet, resolve_data
from grader.environment import describe_environment
from grader.execute.notebook import execute_notebook
from grader.execute.result import Execution
from grader.messages import EntrySpec
from grader.progress import Progress
from grader.referee.evidence import Problem
from grader.referee.judge import judge_problem
from grader.referee.oracle import load_oracle
from grader.referee.referee import Referee, expected_runners, timing_threads
from grader.referee.runner_client import Runner, start_runner
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
from grader.sandbox.interface import ResourceLimits, Sandbox
from grader.submission import SubmissionFile

Results = tuple[tuple[Part, ...], "Timing | None"]


class Settings(msgspec.Struct, frozen=True):
    """What a grading depends on beside the submission and the assignment.

    `seed` decides all hidden inputs; `data` is a folder, "builtin" or None for the usual search;
    `environment` is the process's, `clock` gives monotonic seconds.
    """

    sandbox: Sandbox
    seed: int
    data: str | None = None
    environment: Mapping[str, str] = {}
    clock: Callable[[], float] = time.monotonic


class Stages:
    """Wall seconds by stage, in the order in which they were run."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self.seconds: dict[str, float] = {}

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Measure the body of a with statement."""
        start = self._clock()
        try:
            yield
        finally:
            self.seconds[name] = round(self._clock() - start, 3)

    def duration(self) -> Duration:
        """Return the time since the start, and the stages."""
        return Duration(round(self._clock() - self._start, 3), dict(self.seconds))


def grade(
    submission: SubmissionFile,
    course_assignment: CourseAssignment,
    settings: Settings,
    progress: Progress,
    notes: tuple[str, ...] = (),
) -> Report:
    """Grade one submission.

    Raises GraderError when nothing could be graded for a reason that is not the submission's.
    """
    stages = Stages(settings.clock)
    assignment = course_assignment.assignment
    with stages.measure("data"):
        data = resolve_data(
            assignment.data,
            directory=settings.data,
            environment=settings.environment,
            progress=progress,
        )
    if submission.notebook is None:
        problem = Problem(submission.problem, submission.hint)
        parts = tuple(judge_problem(part, problem) for part in assignment.part)
        results: Results = (parts, None)
        execution = None
    else:
        execution, results = _run(submission, course_assignment, settings, data, progress, stages)
    return _report(
        submission, assignment, settings, data, results, execution, notes, stages.duration()
    )


def _run(
    submission: SubmissionFile,
    course_assignment: CourseAssignment,
    settings: Settings,
    data: DataSet,
    progress: Progress,
    stages: Stages,
) -> tuple[Execution, Results]:
    """Run the notebook while answers and runners are made ready; then grade its parts."""
    assignment = course_assignment.assignment
    for_oracle, for_parts = np.random.SeedSequence(settings.seed).spawn(2)
    with (
        RunnerPool(
            _runner_starter(settings.sandbox, assignment),
            expected_runners(course_assignment),
            assignment.limits.task_seconds,
        ) as runners,
        ThreadPoolExecutor(max_workers=1) as background,
    ):
        answers = background.submit(load_oracle, course_assignment, data, for_oracle)
        with stages.measure("notebook"):
            progress.stage("running the notebook")
            execution = execute_notebook(
                submission.notebook,
                sandbox=settings.sandbox,
                entries=_entries(assignment),
                files=data.staged_files(),
                limits=assignment.limits,
                progress=progress,
            )
        with stages.measure("parts"):
            oracle = answers.result()
            referee = Referee(course_assignment, oracle, runners, for_parts, progress)
            return execution, referee.grade(execution.captures)


def _entries(assignment: Assignment) -> tuple[EntrySpec, ...]:
    return tuple(EntrySpec(part.id, part.entry_kind, part.entry) for part in assignment.part)


def _runner_starter(sandbox: Sandbox, assignment: Assignment) -> Callable[[Kind], Runner]:
    limits = ResourceLimits(
        memory=assignment.limits.memory_mb * 2**20,
        scratch=assignment.limits.scratch_mb * 2**20,
        processes=assignment.limits.processes,
    )

    def start(kind: Kind) -> Runner:
        threads = timing_threads(assignment) if kind == "timing" else 1
        return start_runner(
            sandbox,
            "extern" if kind == "extern" else "pure",
            limits=limits,
            environment={"TVM_NUM_THREADS": str(threads)},
        )

    return start


def _report(
    submission: SubmissionFile,
    assignment: Assignment,
    settings: Settings,
    data: DataSet,
    results: Results,
    execution: Execution | None,
    notes: tuple[str, ...],
    duration: Duration,
) -> Report:
    parts, timing = results
    return Report(
        score=round(sum(part.score for part in parts), 6),
        max_score=assignment.points,
        assignment=AssignmentId(assignment.slug, assignment.title, assignment.version),
        submission=_describe_submission(submission, execution),
        parts=parts,
        problems=execution.problems if execution is not None else (),
        notes=notes + (execution.notes if execution is not None else ()),
        timing=timing,
        data=Data(data.name, len(data.images), assignment.oracle.hidden_inputs, data.detail),
        sandbox=SandboxFacts(settings.sandbox.level, settings.sandbox.detail),
        environment=describe_environment(),
        seed=settings.seed,
        duration=duration,
    )


def _describe_submission(submission: SubmissionFile, execution: Execution | None) -> Submission:
    cells = execution.cells if execution is not None else 0
    executed = execution.executed if execution is not None else 0
    return Submission(submission.name, submission.sha256, cells, executed)
