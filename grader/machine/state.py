"""What a machine is, and was while a schedule was timed on it, as one of its users sees it."""

import time
from collections.abc import Collection, Mapping

import msgspec

from grader.machine.cpus import (
    SAMPLE_SECONDS,
    Files,
    Sleep,
    Use,
    core_of,
    cpu_quota,
    read_number,
    read_text,
    usage,
    use_since_boot,
)

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
