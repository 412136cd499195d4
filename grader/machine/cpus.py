"""Which CPUs there are for us, how busy each is, which share a core, and which to measure on."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath

import msgspec

# What the kernel shows of control groups: where they are, and how much they leave us.
#
# A group that has used up its quota is stopped until its next period begins, for tens of
# milliseconds. A timed block that meets such a pause says nothing about the function in it.


class Files(msgspec.Struct, frozen=True):
    """The roots that everything here is read below: usually /, /proc and /sys.

    A file that is not there, or that this user may not read, is no error: nothing is known then.
    """

    root: Path = Path("/")
    proc: Path = Path("/proc")
    sys: Path = Path("/sys")

    @property
    def cpus(self) -> Path:
        """The folder that holds one folder for each CPU."""
        return self.sys / "devices/system/cpu"


def read_text(path: Path) -> str:
    """Return the stripped text of a file, empty where there is none or it cannot be read.

    Files below /sys that exist may still refuse: a governor's does on some virtual machines.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def read_number(path: Path) -> int | None:
    """Return the whole number that a file holds, None where it holds none."""
    text = read_text(path)
    return int(text) if text.removeprefix("-").isdecimal() else None


_ESCAPE = re.compile(r"\\(\d{3})")


class Hierarchy(msgspec.Struct, frozen=True):
    """A hierarchy of control groups: where it is mounted, and which group of it lies there.

    `unified` says that it is of version 2; `controllers` are what one of version 1 counts.
    """

    mount: Path
    group: PurePosixPath
    unified: bool
    controllers: tuple[str, ...] = ()


def hierarchies(files: Files) -> Iterator[Hierarchy]:
    """Yield those that are mounted: lines of /proc/self/mountinfo, see proc(5)."""
    for line in read_text(files.proc / "self/mountinfo").splitlines():
        mounted, separator, file_system = line.partition(" - ")
        fields, kinds = mounted.split(), file_system.split()
        if not separator or len(fields) < 5 or len(kinds) < 3:
            continue
        group, mount = PurePosixPath(_unescape(fields[3])), Path(_unescape(fields[4]))
        if kinds[0] == "cgroup2":
            yield Hierarchy(mount, group, unified=True)
        elif kinds[0] == "cgroup":
            yield Hierarchy(mount, group, unified=False, controllers=tuple(kinds[2].split(",")))


def own_folders(files: Files, hierarchy: Hierarchy) -> Iterator[Path]:
    """Yield the folder of this process's group and those of the groups above, as far as mounted."""
    group = _own_group(files, hierarchy)
    inside = group.is_relative_to(hierarchy.group) and ".." not in group.parts
    below = group.relative_to(hierarchy.group) if inside else PurePosixPath()
    for part in (below, *below.parents):
        yield hierarchy.mount / part


def _own_group(files: Files, hierarchy: Hierarchy) -> PurePosixPath:
    """Return the group of this process: a line `number:controllers:path` of /proc/self/cgroup."""
    for line in read_text(files.proc / "self/cgroup").splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        named = set(controllers.split(",")) & set(hierarchy.controllers)
        if number == "0" if hierarchy.unified else named:
            return PurePosixPath(path)
    return PurePosixPath("/")


def _unescape(text: str) -> str:
    """Undo what the kernel does to blanks and backslashes in a path."""
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), text)


def cpu_quota(files: Files) -> float | None:
    """Return the least quota of this process's groups and all groups above, in CPUs.

    None where there is none, or none that can be seen: what lies above a container's own group is
    hidden inside.
    """
    quotas = [
        quota
        for hierarchy in hierarchies(files)
        if hierarchy.unified or "cpu" in hierarchy.controllers
        for folder in own_folders(files, hierarchy)
        if (quota := _quota(folder)) is not None
    ]
    return min(quotas, default=None)


def _quota(folder: Path) -> float | None:
    """Return a group's quota in CPUs: `cpu.max` of version 2, two files of version 1."""
    quota, _, period = read_text(folder / "cpu.max").partition(" ")
    if quota.isdecimal() and period.isdecimal() and int(period) > 0:
        return int(quota) / int(period)
    allowed = read_number(folder / "cpu.cfs_quota_us")
    length = read_number(folder / "cpu.cfs_period_us")
    return allowed / length if allowed and length and allowed > 0 and length > 0 else None


Sleep = Callable[[float], None]

SAMPLE_SECONDS = 0.2
"""How long CPUs are watched before some are chosen: 20 of the ticks in which /proc/stat counts."""

ALIKE = 0.1
"""CPUs whose busy shares round to the same multiple of this count as equally idle: two of 20
ticks."""

_HERE = Files()


class Use(msgspec.Struct, frozen=True):
    """What became of a CPU's time, in ticks of /proc/stat (usually 10 ms).

    `steal` is what the host of a virtual machine gave to somebody else.
    """

    busy: int
    idle: int
    steal: int

    @property
    def busy_share(self) -> float:
        """Share of the time that was not idle, stolen time included; 0 where nothing is known."""
        return self._share(self.busy + self.steal)

    @property
    def steal_share(self) -> float:
        """Share of the time that was stolen; 0 where nothing is known."""
        return self._share(self.steal)

    def __add__(self, other: Use) -> Use:
        return Use(self.busy + other.busy, self.idle + other.idle, self.steal + other.steal)

    def since(self, earlier: Use) -> Use:
        """Return what was added since; a counter that went backwards counts as still."""
        return Use(
            max(self.busy - earlier.busy, 0),
            max(self.idle - earlier.idle, 0),
            max(self.steal - earlier.steal, 0),
        )

    def _share(self, part: int) -> float:
        total = self.busy + self.idle + self.steal
        return part / total if total else 0.0


def use_since_boot(files: Files = _HERE) -> dict[int, Use]:
    """Return the use of each CPU since boot, by its number; empty where nobody counts.

    Fields are those of proc(5): user, nice, system, idle, iowait, irq, softirq, steal. Guests' time
    is in user and nice already.
    """
    found: dict[int, Use] = {}
    for line in read_text(files.proc / "stat").splitlines():
        name, *fields = line.split()
        number = name.removeprefix("cpu")
        if name == number or not number.isdecimal() or not all(map(str.isdecimal, fields)):
            continue
        user, nice, system, idle, iowait, irq, softirq, steal = (*map(int, fields), *[0] * 8)[:8]
        found[int(number)] = Use(user + nice + system + irq + softirq, idle + iowait, steal)
    return found


def usage(
    files: Files = _HERE, sleep: Sleep = time.sleep, seconds: float = SAMPLE_SECONDS
) -> dict[int, Use]:
    """Return the use of each CPU over the next `seconds`, by its number; empty as above."""
    before = use_since_boot(files)
    if not before:
        return {}
    sleep(seconds)
    return {
        number: use.since(before[number])
        for number, use in use_since_boot(files).items()
        if number in before
    }


def core_of(cpu: int, files: Files = _HERE) -> tuple[int, ...]:
    """Return the CPUs of the core that `cpu` belongs to; itself alone where nothing is known."""
    path = files.cpus / f"cpu{cpu}/topology/thread_siblings_list"
    siblings = parse_list(read_text(path))
    return siblings if cpu in siblings else (cpu,)


def parse_list(text: str) -> tuple[int, ...]:
    """Return the numbers of a list as the kernel writes it ("0-2,5"); empty for anything else."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, dash, last = part.partition("-")
        end = last if dash else first
        if not first.isdecimal() or not end.isdecimal():
            return ()
        numbers.update(range(int(first), int(end) + 1))
    return tuple(sorted(numbers))


def quiet_cpus(
    count: int,
    available: Collection[int],
    *,
    files: Files = _HERE,
    sleep: Sleep = time.sleep,
) -> tuple[int, ...]:
    """Return the `count` idlest of the CPUs `available`, in ascending order, or all of fewer.

    A second CPU of a core is taken only when every core has given one: two that share a core
    share its arithmetic units. A CPU counts as being as busy as its whole core. Among those alike
    the last ones are taken, as interrupts go to the first; where nobody counts, all are alike.
    Takes `SAMPLE_SECONDS`, unless there is no choice.
    """
    if count >= len(available):
        return tuple(sorted(available))
    used = usage(files, sleep)
    cores = {cpu: core_of(cpu, files) for cpu in available}
    loads = {cpu: _load(core, used) for cpu, core in cores.items()}
    ranked = sorted(available, key=lambda cpu: (loads[cpu], _load((cpu,), used), -cpu))
    return tuple(sorted(_one_for_each_core(ranked, cores)[:count]))


def _load(cpus: Collection[int], used: Mapping[int, Use]) -> int:
    shares = (used[cpu].busy_share for cpu in cpus if cpu in used)
    return round(sum(shares) / ALIKE)


def _one_for_each_core(ranked: list[int], cores: Mapping[int, tuple[int, ...]]) -> list[int]:
    """Return CPUs in the order given, but the first of each core before the second of any."""
    seen: dict[tuple[int, ...], int] = {}
    turns: list[tuple[int, int]] = []
    for place, cpu in enumerate(ranked):
        turn = seen.get(cores[cpu], 0)
        seen[cores[cpu]] = turn + 1
        turns.append((turn, place))
    return [ranked[place] for _, place in sorted(turns)]
