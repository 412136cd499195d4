"""`grader doctor --timing`: whether the times of schedules can be trusted on this machine."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console

from grader.assignment import PartTable
from grader.checks import kinds as registered
from grader.cli.telling import tell_below, tell_beside
from grader.course import Course, CourseAssignment, find_course
from grader.evidence.case import Problem
from grader.evidence.registry import find_check
from grader.evidence.runner_client import start_timing_runner
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.grading.needs import speed_options
from grader.language import NOTHING, Text, foreign, in_a_row, in_clauses, say
from grader.machine.cpus import quiet_cpus
from grader.machine.quiet import LockError, TimingLock
from grader.machine.state import MachineFacts, machine_facts
from grader.machine.trust import Doubt, doubts, threads_of
from grader.measurement.measure import Machine, MeasurementSetup, Version, measure
from grader.measurement.points import SpeedOptions
from grader.measurement.read import MOST_ERROR
from grader.progress import Progress
from grader.report import Timing
from grader.sandbox.choose import choose_sandbox

assert registered.__all__  # importing the package registers the checks

LOOK_SECONDS = 1.0
"""How long the machine is watched: a second shows what works now and then, and not only always."""

UNKNOWN = say("unknown")


class SelfTestResult(msgspec.Struct, frozen=True):
    """One function measured against itself: the ratio of its times, which is 1, and its interval.

    `is_trusted` says whether ratio and interval are as near to 1 as grading demands; `remedy` what
    to do when they are not.
    """

    ratio: float
    low: float
    high: float
    is_trusted: bool
    remedy: Text = NOTHING


RunSelfTest = Callable[[tuple[int, ...]], SelfTestResult | Text]
"""Measures on these CPUs, with as many threads; returns a sentence where nothing can be said."""


def asked_threads(course: Course) -> int:
    """Return the most threads that schedules of a course's assignments are timed with."""
    tables = (
        table
        for each in course.assignments.values()
        for part in each.assignment.part
        for table in part.check
        if table.kind == "speed"
    )
    options = (find_check(table).parse(table) for table in tables)
    return max((each.threads for each in options if isinstance(each, SpeedOptions)), default=1)


def examine_timing(
    console: Console,
    progress: Progress,
    course: Path | None = None,
    *,
    lock: TimingLock | None = None,
    look: Callable[[Iterable[int]], MachineFacts] | None = None,
    self_test: RunSelfTest | None = None,
) -> bool:
    """Print what speaks for and against timing here. Returns whether times can be trusted.

    `lock` and `look` are those of this machine unless given. Raises CourseError.
    """
    threads = asked_threads(find_course(course, (Path.cwd(),)))
    available = os.sched_getaffinity(0)
    facts = look(available) if look else machine_facts(available, seconds=LOOK_SECONDS)
    is_taken, trouble = _ask(lock or TimingLock())
    _print_facts(facts, threads, console)
    found = (*doubts(facts, threads, is_taken=is_taken), *trouble)
    for doubt in found:
        label = say("obstacle") if doubt.is_obstacle else say("note")
        tell_below(console, label, doubt.what, doubt.remedy)
    progress.stage(say("timing-function-against-itself"))
    passed = self_test is None or _print_self_test(
        self_test(quiet_cpus(threads, available)), console
    )
    return _print_verdict(passed and not any(doubt.is_obstacle for doubt in found), console)


def _ask(lock: TimingLock) -> tuple[bool, tuple[Doubt, ...]]:
    """Return whether another grading times now, and what is wrong with the way to find that out."""
    try:
        return lock.is_taken(), ()
    except LockError as error:
        what = say("gradings-on-this-machine-cannot-take-turns", reason=error.message)
        return False, (Doubt("lock", what, error.hint, is_obstacle=False),)


def _print_facts(facts: MachineFacts, threads: int, console: Console) -> None:
    asked = say("with-as-course-asks", threads=threads_of(threads))
    tell_below(console, say("timing"), asked, *_sentences(facts))


def _sentences(facts: MachineFacts) -> Iterable[Text]:
    none = say("none")
    yield say("usable-cpus", cpus=in_a_row(map(str, facts.cpus)))
    cores = [foreign("/".join(map(str, core))) for core in facts.shared_cores]
    yield say("cpus-sharing-core", cores=in_clauses(cores) if cores else none)
    quota = none if facts.quota is None else say("quota-cpus", quota=facts.quota)
    yield say("quota-cpu-time", quota=quota)
    names = in_a_row(facts.governors) if facts.governors else UNKNOWN
    yield say("governor-boost", names=names, boost=_yes(facts.boost))
    yield say("on-battery", answer=_yes(facts.on_battery))
    load = UNKNOWN if facts.load is None else foreign(f"{facts.load:g}")
    yield say("load", load=load)
    yield say("cpu-use-in-last-second", shares=_busy(facts))
    yield say(
        "cpu-time-that-host-gave-other-machines",
        now=_share(facts.steal),
        before=_share(facts.steal_since_boot),
    )
    yield say(
        "virtual-machine-container",
        virtual=_yes(facts.is_virtual),
        container=_yes(facts.is_container),
    )


def _busy(facts: MachineFacts) -> Text:
    shares = [f"{cpu} {share:.0%}" for cpu, share in facts.busy.items()]
    return in_a_row(shares) if shares else UNKNOWN


def _share(value: float | None) -> Text:
    return UNKNOWN if value is None else foreign(f"{value:.1%}")


def _yes(value: bool | None) -> Text:
    return UNKNOWN if value is None else say("yes") if value else say("no")


def _print_self_test(result: SelfTestResult | Text, console: Console) -> bool:
    label = say("self-test")
    if isinstance(result, Text):
        tell_beside(console, label, result)
        return False
    measured = say(
        "function-measured-against-itself-times-as-fast",
        ratio=result.ratio,
        low=result.low,
        high=result.high,
    )
    tell_below(console, label, measured, NOTHING if result.is_trusted else result.remedy)
    return result.is_trusted


def _print_verdict(is_trusted: bool, console: Console) -> bool:
    verdict = say("times-cannot-trusted-here-now")
    if is_trusted:
        verdict = say("times-can-trusted-here")
    tell_beside(console, say("verdict"), verdict)
    return is_trusted


# The A/A self-test of `grader doctor --timing`, with everything that a grading times with.
#
# The unscheduled function is handed in: what does this machine say of a ratio that is 1?


def self_test_of(course: Path | None) -> RunSelfTest | None:
    """Return the self-test of the first assignment that scores speed. Raises CourseError."""
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

    def run(cpus: tuple[int, ...]) -> SelfTestResult | Text:
        with (
            choose_sandbox(None, assignment.sandbox.minimum, protected=course.folders) as sandbox,
            RunnerPool(
                lambda _: start_timing_runner(sandbox, limits, options.threads),
                assignment.limits.task_seconds,
            ) as runners,
        ):
            machine = Machine(lambda count: cpus[:count])
            setup = MeasurementSetup(
                course_assignment.workload(), options, subject, points, runners, machine
            )
            timing = _time_unscheduled(setup, np.random.default_rng(secrets.randbits(64)))
        return timing.reason if isinstance(timing, Problem) else read_self_test(timing)

    return run


def read_self_test(timing: Timing) -> SelfTestResult:
    """Say whether a function that was measured against itself was as fast, on a core of its own."""
    is_alike = abs(timing.speedup - 1) < MOST_ERROR
    remedy = say("find-out-what-else-this-machine-running")
    if not timing.is_settled:
        remedy = say("core-is-shared-use-a-machine-of-your-own")
    is_trusted = is_alike and timing.is_settled
    return SelfTestResult(timing.speedup, timing.ci_low, timing.ci_high, is_trusted, remedy)


def _time_unscheduled(setup: MeasurementSetup, generator: np.random.Generator) -> Timing | Problem:
    """Time the unscheduled function of an assignment in the place of a submission.

    The speed-up of the result should be 1; a Problem says why this machine cannot be believed at
    the moment.
    """
    version = Version(b"", "unscheduled", setup.subject.example())
    measured = measure([version], setup, generator)
    return measured if isinstance(measured, Problem) else measured.timing
