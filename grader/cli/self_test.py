"""The A/A self-test of `grader doctor --timing`, with everything that a grading times with."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grader.assignment import Assignment, PartTable
from grader.cli.doctor_timing import RunSelfTest, SelfTest
from grader.course import CourseAssignment, find_course
from grader.referee.bench import Bench, Machine
from grader.referee.checks.speed import SpeedOptions
from grader.referee.evidence import Problem
from grader.referee.referee import speed_options
from grader.referee.runner_client import Runner, start_runner
from grader.referee.runners import Kind, RunnerPool
from grader.referee.selftest import run_selftest
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Sandbox
from grader.timing.control import MOST_ERROR
from grader.timing.pace import KnownPace


def self_test_of(course: Path | None) -> RunSelfTest | None:
    """Return the self-test of a course's first assignment that scores speed, None if none does.

    Raises CourseError.
    """
    for each in find_course(course, (Path.cwd(),)).assignments.values():
        for part in each.assignment.part:
            if any(table.kind == "speed" for table in part.check):
                return _self_test(each, part)
    return None


def _self_test(course_assignment: CourseAssignment, part: PartTable) -> RunSelfTest:
    options, points = speed_options(part)
    assignment = course_assignment.assignment

    def run(cpus: tuple[int, ...]) -> SelfTest | str:
        with (
            choose_sandbox(None, assignment.sandbox.minimum) as sandbox,
            RunnerPool(
                _starter(sandbox, course_assignment, options), assignment.limits.task_seconds
            ) as runners,
        ):
            machine = Machine(lambda count: cpus[:count], KnownPace())
            bench = Bench(course_assignment.workload(), options, points, runners, machine)
            generator = np.random.default_rng(secrets.randbits(64))
            timing = run_selftest(bench, _input_shape(assignment), generator)
        if isinstance(timing, Problem):
            return timing.reason
        trusted = abs(timing.speedup - 1) < MOST_ERROR
        remedy = "" if trusted else "Find out what else this machine does, and try again."
        return SelfTest(timing.speedup, timing.ci_low, timing.ci_high, trusted, remedy)

    return run


def _input_shape(assignment: Assignment) -> tuple[int, ...]:
    return assignment.oracle.input_shape if assignment.oracle is not None else ()


def _starter(
    sandbox: Sandbox, course_assignment: CourseAssignment, options: SpeedOptions
) -> Callable[[Kind], Runner]:
    limits = course_assignment.assignment.limits.resources()

    def start(_: Kind) -> Runner:
        return start_runner(sandbox, "pure", limits, {"TVM_NUM_THREADS": str(options.threads)})

    return start
