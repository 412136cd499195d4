"""The facts about a machine that decide whether a time means something, and the remedies.

A `Doubt` that is an obstacle means that times of several threads, or all times, would be disturbed
more often than they are not. The others are worth knowing: baseline, submission and reference are
measured in turn within milliseconds, so what changes slowly changes all of them alike.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

import msgspec

from grader.language import Text, counted, in_a_row, say
from grader.machine.control_groups import Files, cpu_quota, read_number, read_text
from grader.machine.cpus import SAMPLE_SECONDS, Sleep, Use, core_of, usage, use_since_boot
from grader.machine.packages import as_root

_NOTHING = Use(0, 0, 0)
_CONTAINER_FILES = (".dockerenv", "run/.containerenv", "run/systemd/container")
"""What Docker, Podman and systemd-nspawn leave in a container, below its root."""

_CONTAINER_GROUPS = ("docker", "kubepods", "containerd", "libpod", "lxc")
"""Parts of the names of the control groups in which containers' first processes are."""

_VIRTUAL_PRODUCTS = ("qemu", "kvm", "vmware", "virtualbox", "xen", "amazon ec2", "google compute")
"""Parts of what the firmware of a virtual machine says it is, in lower case."""


class MachineFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a machine was while a schedule was timed on it. None, or nothing: not known.

    `cpus` are those that this process may use, `shared_cores` the cores among theirs that have
    several CPUs. `governors` are the names of the rules by which the CPUs' frequency is chosen;
    `boost` says whether it may rise above the nominal one. `quota` is in CPUs; None: none is seen.
    `load` is the number of threads that ran or wanted to, on average over the last minute.
    `busy` maps the number of a CPU to the share of a short sample in which it was not idle.
    `steal` and `steal_since_boot` are shares of the time of the CPUs in `cpus` that the host of a
    virtual machine gave to others.
    """

    cpus: tuple[int, ...] = ()
    shared_cores: tuple[tuple[int, ...], ...] = ()
    governors: tuple[str, ...] = ()
    boost: bool | None = None
    quota: float | None = None
    on_battery: bool | None = None
    load: float | None = None
    busy: dict[int, float] = {}
    steal: float | None = None
    steal_since_boot: float | None = None
    is_virtual: bool | None = None
    is_container: bool | None = None


def machine_facts(
    available: Collection[int],
    *,
    files: Files = Files(),  # noqa: B008 - frozen
    sleep: Sleep = time.sleep,
    seconds: float = SAMPLE_SECONDS,
) -> MachineFacts:
    """Look at the machine for `seconds`, as one of its users who may use the CPUs `available`."""
    cpus = tuple(sorted(available))
    used = usage(files, sleep, seconds)
    return MachineFacts(
        cpus=cpus,
        shared_cores=_shared_cores(cpus, files),
        governors=_governors(cpus, files),
        boost=_boost(files),
        quota=cpu_quota(files),
        on_battery=_on_battery(files),
        load=_load(files),
        busy={cpu: round(use.busy_share, 3) for cpu, use in sorted(used.items())},
        steal=_steal(cpus, used),
        steal_since_boot=_steal(cpus, use_since_boot(files)),
        is_virtual=_is_virtual(files),
        is_container=_is_container(files),
    )


def _shared_cores(cpus: Collection[int], files: Files) -> tuple[tuple[int, ...], ...]:
    cores = {core_of(cpu, files) for cpu in cpus}
    return tuple(sorted(core for core in cores if len(core) > 1))


def _governors(cpus: Collection[int], files: Files) -> tuple[str, ...]:
    paths = (files.cpus / f"cpu{cpu}/cpufreq/scaling_governor" for cpu in cpus)
    return tuple(sorted({name for name in map(read_text, paths) if name}))


def _boost(files: Files) -> bool | None:
    """Ask the driver of Intel's processors, whose switch is the other way round, then others."""
    forbidden = read_number(files.cpus / "intel_pstate/no_turbo")
    if forbidden is not None:
        return forbidden == 0
    allowed = read_number(files.cpus / "cpufreq/boost")
    return None if allowed is None else allowed != 0


def _on_battery(files: Files) -> bool | None:
    """Say whether a battery is what this machine runs on; a mouse's battery is none of those."""
    folder = files.sys / "class/power_supply"
    if not folder.is_dir():
        return None
    supplies = [each for each in sorted(folder.iterdir()) if read_text(each / "scope") != "Device"]
    batteries = [each for each in supplies if read_text(each / "type") == "Battery"]
    if any(read_number(each / "online") for each in supplies if each not in batteries):
        return False
    return any(read_text(each / "status") == "Discharging" for each in batteries)


def _load(files: Files) -> float | None:
    words = read_text(files.proc / "loadavg").split()
    try:
        return float(words[0])
    except (IndexError, ValueError):
        return None


def _steal(cpus: Collection[int], used: Mapping[int, Use]) -> float | None:
    found = [used[cpu] for cpu in cpus if cpu in used]
    return round(sum(found, _NOTHING).steal_share, 4) if found else None


def _is_virtual(files: Files) -> bool | None:
    """Ask the processor, which on x86 says so, then the kernel and the firmware."""
    flags = _processor_flags(files)
    if "hypervisor" in flags or read_text(files.sys / "hypervisor/type"):
        return True
    names = (
        read_text(files.sys / f"class/dmi/id/{name}") for name in ("sys_vendor", "product_name")
    )
    if any(product in name.lower() for name in names for product in _VIRTUAL_PRODUCTS):
        return True
    return False if flags else None


def _processor_flags(files: Files) -> frozenset[str]:
    for line in read_text(files.proc / "cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    return frozenset()


def _is_container(files: Files) -> bool | None:
    if any((files.root / name).exists() for name in _CONTAINER_FILES):
        return True
    groups = read_text(files.proc / "1/cgroup")
    if any(name in groups for name in _CONTAINER_GROUPS):
        return True
    return False if groups else None


QUIET_SHARE = 0.1
"""A CPU that others use for less than this share of the time counts as quiet."""

STEAL_OBSTACLE = 0.05
STEAL_CAUTION = 0.01
"""Shares of stolen time. A hypervisor takes a CPU away for milliseconds at a time, as long as a
timed block lasts: at 5 % most groups of several blocks meet it."""

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
"""What can stand against timing; `lock`: gradings cannot wait for one another."""


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
            say("Another grading is timing on this machine right now."),
            say("Wait until it has finished. Gradings wait for one another by themselves."),
        )
    busy = [cpu for cpu, share in facts.busy.items() if share >= QUIET_SHARE]
    quiet = [cpu for cpu in facts.cpus if cpu not in busy]
    if len(quiet) < min(threads, len(facts.cpus)):
        some = say(
            "Other programs are using {which}: {quiet} of the {cpus} that the grader may use are"
            " quiet."
        )
        one = say(
            "Other programs are using {which}: {quiet} of the {cpus} that the grader may use is"
            " quiet."
        )
        yield Doubt(
            "busy",
            say(
                one if len(quiet) == 1 else some,
                which=_listed(busy),
                quiet=len(quiet),
                cpus=_cpus(len(facts.cpus)),
            ),
            say("Stop the other programs, or grade when they have finished."),
        )
    elif busy:
        yield Doubt(
            "partly_busy",
            say(
                "Other programs are using {which}. Enough other CPUs are quiet.",
                which=_listed(busy),
            ),
            say(
                "Times are best when nothing else runs: memory and the clock rate are shared by"
                " all."
            ),
            is_obstacle=False,
        )
    yield from _stolen(facts)


_STOLEN: tuple[tuple[DoubtCode, Text], ...] = (
    (
        "stolen_now",
        say(
            "The host of this virtual machine gives {share:.0%} of its CPU time to others, counted"
            " now."
        ),
    ),
    (
        "stolen_before",
        say(
            "The host of this virtual machine gives {share:.0%} of its CPU time to others, counted"
            " since this machine started."
        ),
    ),
)


def _stolen(facts: MachineFacts) -> Iterator[Doubt]:
    shares = (facts.steal, facts.steal_since_boot)
    for share, (code, what) in zip(shares, _STOLEN, strict=True):
        if share is not None and share >= STEAL_CAUTION:
            yield Doubt(
                code,
                say(what, share=share),
                say("Use a virtual machine with CPUs of its own, or a real one."),
                is_obstacle=code == "stolen_now" and share >= STEAL_OBSTACLE,
            )
            return


def _room(facts: MachineFacts, threads: int) -> Iterator[Doubt]:
    """Yield what leaves the threads of a schedule too few CPUs."""
    if len(facts.cpus) < threads:
        yield Doubt(
            "few_cpus",
            say(
                "The grader may use {cpus}, and the assignment times schedules with {threads}.",
                cpus=_cpus(len(facts.cpus)),
                threads=threads_of(threads),
            ),
            say("Use a machine with more CPUs, or set fewer `threads` in assignment.toml."),
        )
    if facts.quota is not None and facts.quota < threads:
        yield Doubt(
            "quota",
            say(
                "The quota is {quota:g} CPUs, and the assignment times schedules with {threads}:"
                " all of them are stopped whenever it is used up.",
                quota=facts.quota,
                threads=threads_of(threads),
            ),
            say(
                "Give the container a quota of {count} CPUs (docker: --cpus), or no quota and CPUs"
                " of its own (docker: --cpuset-cpus).",
                count=threads + 1,
            ),
        )
    yield from _shared(facts, threads)


def _shared(facts: MachineFacts, threads: int) -> Iterator[Doubt]:
    """Yield what comes of CPUs that share a core."""
    cores = _cores(facts)
    if cores < min(threads, len(facts.cpus)):
        yield Doubt(
            "few_cores",
            say(
                "The {count} CPUs that the grader may use belong to {cores} (hyper-threading), and"
                " the assignment times schedules with {threads}: some of them would have to share"
                " a core.",
                count=len(facts.cpus),
                cores=counted(cores, say("{count} core"), say("{count} cores")),
                threads=threads_of(threads),
            ),
            say(
                "Use a machine with as many cores as threads, or set fewer `threads` in"
                " assignment.toml."
            ),
        )
    elif facts.shared_cores:
        yield Doubt(
            "hyper_threading",
            say(
                "Two CPUs share a core here (hyper-threading). The grader uses one of each core,"
                " but a program on the other one slows it down."
            ),
            say(
                "Let nothing else run, or switch it off: {command}",
                command=f"echo off | {as_root('tee /sys/devices/system/cpu/smt/control')}",
            ),
            is_obstacle=False,
        )


def _host(facts: MachineFacts, threads: int) -> Iterator[Doubt]:
    """Yield what the host of a virtual machine may do that nothing in here shows."""
    if facts.is_virtual and threads > 1:
        yield Doubt(
            "virtual_cores",
            say(
                "This is a virtual machine, and the assignment times schedules with {count}"
                " threads: whether their CPUs share a core of the host may change from one grading"
                " to the next.",
                count=threads,
            ),
            say("Set `threads = 1` in assignment.toml, or use a real machine."),
            is_obstacle=False,
        )


def _clock(facts: MachineFacts) -> Iterator[Doubt]:
    """Yield what makes the clock rate change while functions are measured."""
    if facts.on_battery:
        yield Doubt(
            "battery",
            say("This machine runs on its battery, so its clock rate is lowered and changes."),
            say("Connect it to its power supply."),
        )
    unsteady = [name for name in facts.governors if name not in STEADY_GOVERNORS]
    if unsteady:
        yield Doubt(
            "governor",
            say(
                "The clock rate of the CPUs follows their load (governor {names}).",
                names=in_a_row(unsteady),
            ),
            say(
                "Set it fixed while you grade: {command}",
                command=as_root("cpupower frequency-set --governor performance"),
            ),
            is_obstacle=False,
        )


def _cores(facts: MachineFacts) -> int:
    """Return the number of cores that the usable CPUs are on."""
    shared = {cpu for core in facts.shared_cores for cpu in core}
    alone = [cpu for cpu in facts.cpus if cpu not in shared]
    return len(alone) + len(facts.shared_cores)


def threads_of(number: int) -> Text:
    """Return how many threads there are."""
    return counted(number, say("{count} thread"), say("{count} threads"))


def _cpus(number: int) -> Text:
    return counted(number, say("{count} CPU"), say("{count} CPUs"))


def _listed(cpus: list[int]) -> Text:
    """Return CPUs by their numbers."""
    names = in_a_row(map(str, cpus))
    return say(say("CPU {names}") if len(cpus) == 1 else say("CPUs {names}"), names=names)
