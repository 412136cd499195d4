"""`grader doctor --timing`: whether the times of schedules can be trusted on this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.checks.registry import find_check
from grader.course import Course, find_course
from grader.machine.cpus import quiet_cpus
from grader.machine.quiet import LockError, TimingLock
from grader.machine.trust import Doubt, MachineFacts, count_of, doubts, machine_facts
from grader.measurement.points import SpeedOptions

LOOK_SECONDS = 1.0
"""How long the machine is watched: a second shows what works now and then, and not only always."""

_LABEL_WIDTH = 10


class SelfTest(msgspec.Struct, frozen=True):
    """One function measured against itself: the ratio of its times, which is 1, and its interval.

    `is_trusted` says whether ratio and interval are as near to 1 as grading demands; `remedy` what
    to do when they are not.
    """

    ratio: float
    low: float
    high: float
    is_trusted: bool
    remedy: str = ""


RunSelfTest = Callable[[tuple[int, ...]], SelfTest | str]
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
        _print_doubt(doubt, console)
    passed = self_test is None or _print_self_test(
        self_test(quiet_cpus(threads, available)), console
    )
    return _print_verdict(passed and not any(doubt.is_obstacle for doubt in found), console)


def _ask(lock: TimingLock) -> tuple[bool, tuple[Doubt, ...]]:
    """Return whether another grading times now, and what is wrong with the way to find that out."""
    try:
        return lock.is_taken(), ()
    except LockError as error:
        what = f"Gradings on this machine cannot wait for one another: {error.message.english}."
        return False, (Doubt(what, error.hint.english, is_obstacle=False),)


def _print_facts(facts: MachineFacts, threads: int, console: Console) -> None:
    _print_line("Timing", f"with {count_of(threads, 'thread')}, as the course asks", console)
    for text in _sentences(facts):
        _print_line("", text, console)


def _sentences(facts: MachineFacts) -> Iterable[str]:
    """Yield what is known of the machine, a line each."""
    yield f"CPUs that can be used: {', '.join(map(str, facts.cpus))}"
    cores = "; ".join("/".join(map(str, core)) for core in facts.shared_cores)
    yield f"CPUs that share a core: {cores or 'none'}"
    yield f"quota of CPU time: {'none' if facts.quota is None else f'{facts.quota:g} CPUs'}"
    yield f"governor: {', '.join(facts.governors) or 'unknown'}; boost: {_yes(facts.boost)}"
    yield f"on battery: {_yes(facts.on_battery)}"
    yield f"load: {'unknown' if facts.load is None else f'{facts.load:g}'}"
    yield f"CPUs in use during the last second: {_busy(facts)}"
    yield (
        f"CPU time that the host gave to others: {_share(facts.steal)} in the last second,"
        f" {_share(facts.steal_since_boot)} since the start"
    )
    yield f"virtual machine: {_yes(facts.is_virtual)}; container: {_yes(facts.is_container)}"


def _busy(facts: MachineFacts) -> str:
    shares = [f"{cpu} {share:.0%}" for cpu, share in facts.busy.items()]
    return ", ".join(shares) or "unknown"


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.1%}"


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _print_doubt(doubt: Doubt, console: Console) -> None:
    _print_line("Obstacle" if doubt.is_obstacle else "Note", doubt.what, console)
    if doubt.remedy:
        _print_line("", doubt.remedy, console)


def _print_self_test(result: SelfTest | str, console: Console) -> bool:
    if isinstance(result, str):
        _print_line("Self-test", result, console)
        return False
    text = (
        f"one function measured against itself: {result.ratio:.4f} times as fast,"
        f" interval {result.low:.4f} to {result.high:.4f}"
    )
    _print_line("Self-test", text, console)
    if not result.is_trusted and result.remedy:
        _print_line("", result.remedy, console)
    return result.is_trusted


def _print_verdict(is_trusted: bool, console: Console) -> bool:
    text = "times can be trusted here." if is_trusted else "times cannot be trusted here, now."
    _print_line("Verdict", text, console)
    return is_trusted


def _print_line(label: str, text: str, console: Console) -> None:
    """Print text beside a label; lines that are too long go on below it."""
    table = Table.grid()
    table.add_column(width=_LABEL_WIDTH)
    table.add_column()
    table.add_row(label, Text(text))
    console.print(table, highlight=False)
