"""The A/A self-test of `grader doctor --timing`, with everything that a grading times with.

The unscheduled function is handed in: what does this machine say of a ratio that is 1?
"""

from __future__ import annotations

import secrets
from pathlib import Path

import numpy as np

from grader.assignment import PartTable
from grader.cli.doctor_timing import RunSelfTest, SelfTest
from grader.course import Course, CourseAssignment, find_course
from grader.evidence.case import Problem
from grader.evidence.runner_client import start_timing_runner
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.grading.referee import speed_options
from grader.language import Text, say
from grader.measurement.measure import Machine, MeasurementSetup, Version, measure
from grader.report import Timing
from grader.sandbox.choose import choose_sandbox
from grader.timing.estimate import MOST_ERROR
from grader.timing.pace import KnownPace


def self_test_of(course: Path | None) -> RunSelfTest | None:
    """Return the self-test of a course's first assignment that scores speed, None if none does.

    Raises CourseError.
    """
    found = find_course(course, (Path.cwd(),))
    for each in found.assignments.values():
        for part in each.assignment.part:
            if any(table.kind == "speed" and not table.withheld for table in part.check):
                return _self_test(found, each, part)
    return None


def _self_test(course: Course, course_assignment: CourseAssignment, part: PartTable) -> RunSelfTest:
    options, points = speed_options(part)
    assignment = course_assignment.assignment
    limits = assignment.limits.resources()
    subject = Subject(options.weight, assignment.comparison(part))

    def run(cpus: tuple[int, ...]) -> SelfTest | Text:
        with (
            choose_sandbox(None, assignment.sandbox.minimum, protected=course.folders) as sandbox,
            RunnerPool(
                lambda _: start_timing_runner(sandbox, limits, options.threads),
                assignment.limits.task_seconds,
            ) as runners,
        ):
            machine = Machine(lambda count: cpus[:count], KnownPace())
            setup = MeasurementSetup(
                course_assignment.workload(), options, subject, points, runners, machine
            )
            timing = _time_unscheduled(setup, np.random.default_rng(secrets.randbits(64)))
        if isinstance(timing, Problem):
            return timing.reason
        trusted = abs(timing.speedup - 1) < MOST_ERROR
        remedy = say("Find out what else this machine does, and try again.")
        return SelfTest(timing.speedup, timing.ci_low, timing.ci_high, trusted, remedy)

    return run


def _time_unscheduled(setup: MeasurementSetup, generator: np.random.Generator) -> Timing | Problem:
    """Time the unscheduled function of an assignment in the place of a submission.

    The speed-up of the result should be 1; a Problem says why this machine cannot be believed at
    the moment.
    """
    version = Version(b"", "unscheduled", setup.subject.example(), guarded=False)
    measured = measure([version], setup, generator)
    return measured if isinstance(measured, Problem) else measured.timing
