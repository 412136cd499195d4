"""Whether a time means something on a machine, and the remedies where it does not.

A `Doubt` that is an obstacle means that times of several threads, or all times, would be disturbed
more often than they are not. The others are worth knowing: baseline, submission and reference are
measured in turn within milliseconds, so what changes slowly changes all of them alike.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from grader.language import Text, counted, in_a_row, say
from grader.machine.packages import as_root
from grader.machine.state import MachineFacts

QUIET_SHARE = 0.1
"""A CPU that others use for less than this share of the time counts as quiet."""

STEAL_OBSTACLE = 0.05
STEAL_CAUTION = 0.01
"""Shares of stolen time. A hypervisor takes a CPU away for milliseconds at a time, as long as a
timed block lasts: at 5% most groups of several blocks meet it."""

STEADY_GOVERNORS = frozenset({"performance", "userspace"})


DoubtCode = Literal[
    "another_grading",
    "busy",
    "partly_busy",
    "stolen_now",
    "stolen_before",
    "few_cpus",
    "quota",
    "few_cores",
    "hyper_threading",
    "virtual_cores",
    "battery",
    "governor",
    "lock",
]
"""What can stand against timing; `lock`: gradings cannot wait for one another.

A code is not the id of a sentence, because `busy` has several, and a remedy.
"""


class Doubt(msgspec.Struct, frozen=True):
    """One thing that stands against timing here: what it is, what mends it, how bad it is."""

    code: DoubtCode
    what: Text
    remedy: Text
    is_obstacle: bool = True


def doubts(facts: MachineFacts, threads: int, *, is_taken: bool) -> tuple[Doubt, ...]:
    """Return what stands against timing with `threads` threads, obstacles first.

    `is_taken` says that another grading times at this moment.
    """
    found = [
        *_others(facts, threads, is_taken=is_taken),
        *_room(facts, threads),
        *_host(facts, threads),
        *_clock(facts),
    ]
    return tuple(sorted(found, key=lambda doubt: not doubt.is_obstacle))


def _others(facts: MachineFacts, threads: int, *, is_taken: bool) -> Iterator[Doubt]:
    """Yield what other programs, and other machines on the same host, do to a measurement."""
    if is_taken:
        yield Doubt(
            "another_grading",
            say("another-grading-timing-schedule-on-this-machine"),
            say("wait-until-has-finished-gradings-wait"),
        )
    busy = [cpu for cpu, share in facts.busy.items() if share >= QUIET_SHARE]
    quiet = [cpu for cpu in facts.cpus if cpu not in busy]
    if len(quiet) < min(threads, len(facts.cpus)):
        some = say("other-programs-using-that-grader-may-use-quiet")
        one = say("other-programs-using-that-grader-may-use")
        yield Doubt(
            "busy",
            say(
                one if len(quiet) == 1 else some,
                which=_listed(busy),
                quiet=len(quiet),
                cpus=_cpus(len(facts.cpus)),
            ),
            say("stop-other-programs-or-grade-when-they"),
        )
    elif busy:
        yield Doubt(
            "partly_busy",
            say("other-programs-using-enough-other-cpus-quiet", which=_listed(busy)),
            say("times-most-reliable-when-nothing-else-runs"),
            is_obstacle=False,
        )
    yield from _stolen(facts)


_STOLEN: tuple[tuple[DoubtCode, Text], ...] = (
    (
        "stolen_now",
        say("host-this-virtual-machine-gives-cpu-time"),
    ),
    (
        "stolen_before",
        say("host-this-virtual-machine-gives-cpu-time-others"),
    ),
)


def _stolen(facts: MachineFacts) -> Iterator[Doubt]:
    shares = (facts.steal, facts.steal_since_boot)
    for share, (code, what) in zip(shares, _STOLEN, strict=True):
        if share is not None and share >= STEAL_CAUTION:
            yield Doubt(
                code,
                say(what, share=share),
                say("use-virtual-machine-with-cpus-own"),
                is_obstacle=code == "stolen_now" and share >= STEAL_OBSTACLE,
            )
            return


def _room(facts: MachineFacts, threads: int) -> Iterator[Doubt]:
    """Yield what leaves the threads of a schedule too few CPUs."""
    if len(facts.cpus) < threads:
        yield Doubt(
            "few_cpus",
            say(
                "grader-may-use-and-assignment-times-schedules",
                cpus=_cpus(len(facts.cpus)),
                threads=threads_of(threads),
            ),
            say("use-machine-with-more-cpus-or-set"),
        )
    if facts.quota is not None and facts.quota < threads:
        yield Doubt(
            "quota",
            say(
                "quota-cpus-and-assignment-times-schedules",
                quota=facts.quota,
                threads=threads_of(threads),
            ),
            say("give-container-quota-cpus-docker-cpus", count=threads + 1),
        )
    yield from _shared(facts, threads)


def _shared(facts: MachineFacts, threads: int) -> Iterator[Doubt]:
    """Yield what comes of CPUs that share a core."""
    cores = _cores(facts)
    if cores < min(threads, len(facts.cpus)):
        yield Doubt(
            "few_cores",
            say(
                "cpus-that-grader-may-use-belong-hyper",
                count=len(facts.cpus),
                cores=counted(cores, say("core"), say("cores")),
                threads=threads_of(threads),
            ),
            say("use-machine-with-as-many-cores"),
        )
    elif facts.shared_cores:
        yield Doubt(
            "hyper_threading",
            say("two-cpus-share-core-here-hyper-threading"),
            say(
                "run-nothing-else-or-switch-off",
                command=f"echo off | {as_root('tee /sys/devices/system/cpu/smt/control')}",
            ),
            is_obstacle=False,
        )


def _host(facts: MachineFacts, threads: int) -> Iterator[Doubt]:
    """Yield what the host of a virtual machine may do that nothing in here shows."""
    if facts.is_virtual and threads > 1:
        yield Doubt(
            "virtual_cores",
            say("this-virtual-machine-and-assignment-times-schedules", count=threads),
            say("set-threads-1-in-assignment-toml"),
            is_obstacle=False,
        )


def _clock(facts: MachineFacts) -> Iterator[Doubt]:
    """Yield what makes the clock rate change while functions are measured."""
    if facts.on_battery:
        yield Doubt(
            "battery", say("this-machine-runs-on-battery-so-clock"), say("connect-power-supply")
        )
    unsteady = [name for name in facts.governors if name not in STEADY_GOVERNORS]
    if unsteady:
        yield Doubt(
            "governor",
            say("cpus-clock-rate-follows-load-governor", names=in_a_row(unsteady)),
            say(
                "set-fixed-while-you-grade",
                command=as_root("cpupower frequency-set --governor performance"),
            ),
            is_obstacle=False,
        )


def _cores(facts: MachineFacts) -> int:
    shared = {cpu for core in facts.shared_cores for cpu in core}
    alone = [cpu for cpu in facts.cpus if cpu not in shared]
    return len(alone) + len(facts.shared_cores)


def threads_of(number: int) -> Text:
    """Return how many threads there are."""
    return counted(number, say("thread"), say("threads"))


def _cpus(number: int) -> Text:
    return counted(number, say("count-cpu"), say("count-cpus"))


def _listed(cpus: list[int]) -> Text:
    names = in_a_row(map(str, cpus))
    return say(say("cpu") if len(cpus) == 1 else say("cpus"), names=names)
