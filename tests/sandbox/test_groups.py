"""Control groups: found and made in both versions, removed with what was in them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.machine.cpus import Files, hierarchies
from grader.sandbox.bubblewrap import find_bubblewrap
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.groups import SWITCH, Groups, Quota, _base, bounding_folders, find_groups
from grader.sandbox.interface import Command, ResourceLimits
from grader.sandbox.start import SteppingSandbox
from tests.machine.trees import machine, write
from tests.missing import NO_GROUPS
from tests.users import need_boxes

MEGABYTE = 2**20
SPACE = Path("/proc/self/ns/pid").stat().st_ino
QUOTA = Quota(memory=300 * MEGABYTE, processes=64)
V1 = "33 31 0:29 / {mount} rw,relatime - cgroup cgroup rw,{controllers}\n"
V2 = "41 31 0:38 / {mount} rw,relatime - cgroup2 cgroup2 rw,nsdelegate\n"
HOARD = """
import socket, time
kept = []
while True:
    ends = socket.socketpair()
    kept.append(ends)
    ends[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2**22)
    ends[0].setblocking(False)
    try:
        while True:
            ends[0].send(bytes(2**16))
    except BlockingIOError:
        pass
"""


def made(folders: tuple[Path, ...]) -> dict[str, str]:
    """Return what was written into groups that are made of files."""
    return {path.name: path.read_text() for each in folders for path in each.iterdir()}


def groups_of(folder: Path, *, unified: bool) -> Groups:
    return Groups({"memory": folder, "pids": folder}, (), unified=unified)


class Settings:
    """A base whose new groups have the files of the kernel, which the real ones come with."""

    def __init__(self, base: Path, names: tuple[str, ...]) -> None:
        self._base = base
        self._names = names

    def __truediv__(self, name: str) -> Path:
        folder = self._base / name
        if folder.is_dir():
            for each in self._names:
                (folder / each).touch()
        return folder


@pytest.mark.parametrize(
    ("unified", "names", "expected"),
    [
        (
            True,
            ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max"),
            {
                "memory.max": "314572800",
                "memory.swap.max": "0",
                "memory.oom.group": "1",
                "pids.max": "64",
            },
        ),
        (
            False,
            ("memory.limit_in_bytes", "pids.max"),
            {"memory.limit_in_bytes": "314572800", "pids.max": "64"},
        ),
    ],
)
def test_limits_are_written_as_the_version_has_them(
    tmp_path: Path, unified: bool, names: tuple[str, ...], expected: dict[str, str]
) -> None:
    base = Settings(tmp_path, names)
    groups = Groups({"memory": base, "pids": base}, (), unified=unified)  # type: ignore[dict-item]
    assert expected == made(groups.make(QUOTA).folders)


def test_none_are_made_where_they_are_switched_off() -> None:
    assert find_groups(environment={SWITCH: "off"}) is None


def test_none_are_made_where_memory_is_not_counted(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    write(tmp_path, "proc/self/mountinfo", V2.format(mount=mount))
    write(tmp_path, "proc/self/cgroup", "0::/\n")
    write(mount, "cgroup.controllers", "hugetlb\n")
    assert find_groups(machine(tmp_path), {}) is None


def test_a_group_that_was_delegated_is_emptied_and_handed_down(tmp_path: Path) -> None:
    """No group may have both processes and groups that count: the grader goes one further down."""
    mount = tmp_path / "cgroup"
    write(tmp_path, "proc/self/mountinfo", V2.format(mount=mount))
    write(tmp_path, "proc/self/cgroup", "0::/user/scope\n")
    write(mount, "user/scope/cgroup.controllers", "cpu memory pids\n")
    write(mount, "user/scope/cgroup.subtree_control", "pids\n")
    write(mount, "user/scope/cgroup.procs", f"{os.getpid()}\n")
    leaf = f"user/scope/{_own('self')}"
    write(mount, f"{leaf}/cgroup.procs", "")
    files = machine(tmp_path)
    scope = mount / "user/scope"
    assert scope == _base(files, next(hierarchies(files)), "memory")
    assert "0" == (mount / leaf / "cgroup.procs").read_text()
    assert "+memory" == (scope / "cgroup.subtree_control").read_text()[:7]
    write(tmp_path, "proc/self/cgroup", f"0::/{leaf}\n")
    write(mount, "user/scope/cgroup.subtree_control", "memory pids\n")
    assert scope == _base(files, next(hierarchies(files)), "memory")


def test_a_group_with_others_in_it_is_left_alone(tmp_path: Path) -> None:
    mount = tmp_path / "cgroup"
    write(tmp_path, "proc/self/mountinfo", V2.format(mount=mount))
    write(tmp_path, "proc/self/cgroup", "0::/user/scope\n")
    write(mount, "user/scope/cgroup.controllers", "memory\n")
    write(mount, "user/scope/cgroup.procs", f"1\n{os.getpid()}\n")
    files = machine(tmp_path)
    assert _base(files, next(hierarchies(files)), "memory") is None
    assert ["cgroup.controllers", "cgroup.procs"] == _names(mount / "user/scope")


def test_bounds_of_the_groups_that_the_grader_is_in_are_known(tmp_path: Path) -> None:
    mount = tmp_path / "memory"
    write(tmp_path, "proc/self/mountinfo", V1.format(mount=mount, controllers="memory"))
    write(tmp_path, "proc/self/cgroup", "4:memory:/a/b\n")
    write(mount, "a/memory.limit_in_bytes", str(100 * MEGABYTE))
    write(mount, "a/b/memory.limit_in_bytes", str(2**62))
    assert (mount / "a",) == bounding_folders(machine(tmp_path))


def test_groups_of_graders_that_are_gone_are_swept(tmp_path: Path) -> None:
    groups = groups_of(tmp_path, unified=True)
    ours, gone, other = (
        tmp_path / name for name in (_own(7), f"grader-{SPACE}-{2**22 + 1}-55-0", "session-1")
    )
    for folder in (ours, gone, other):
        folder.mkdir()
    groups.sweep()
    assert [True, False, True] == [folder.exists() for folder in (ours, gone, other)]


def test_groups_of_other_process_namespaces_stay(tmp_path: Path) -> None:
    foreign = tmp_path / f"grader-{SPACE + 1}-{2**22 + 1}-55-0"
    foreign.mkdir()
    groups_of(tmp_path, unified=True).sweep()
    assert foreign.exists()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _own(number: int | str) -> str:
    fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
    return f"grader-{SPACE}-{os.getpid()}-{fields[19]}-{number}"


@pytest.fixture
def real() -> Iterator[Groups]:
    groups = find_groups()
    if groups is None:
        pytest.skip(NO_GROUPS)
    yield groups
    left = [each for base in set(groups._bases.values()) for each in base.glob(_own(0)[:-1] + "*")]
    assert [] == left


@pytest.fixture
def strong(real: Groups) -> Iterator[SteppingSandbox]:
    import shutil

    need_boxes()
    boxes = find_bubblewrap(shutil.which, as_root=os.geteuid() == 0)
    with SteppingSandbox(boxes, real) as sandbox:
        yield sandbox


class TestReal:
    """Where the kernel lets this user make them."""

    def test_a_full_group_is_told_exactly(self, strong: SteppingSandbox) -> None:
        """The warden never looks: the kernel alone counts."""
        limits = ResourceLimits(memory=200 * MEGABYTE, scratch=MEGABYTE, watch=0)
        process = strong.start(Command("python", ("-c", HOARD), limits=limits))
        assert (137, "memory") == (process.wait(60), process.cause)

    def test_a_process_that_kills_itself_is_not_said_to_be_large(
        self, strong: SteppingSandbox
    ) -> None:
        code = "import os; os.kill(os.getpid(), 9)"
        process = strong.start(Command("python", ("-c", code)))
        assert (137, "") == (process.wait(60), process.cause)

    def test_a_child_counts_with_its_parent(self, strong: SteppingSandbox) -> None:
        code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOARD!r}])"
        limits = ResourceLimits(memory=200 * MEGABYTE, scratch=MEGABYTE)
        process = strong.start(Command("python", ("-c", code), limits=limits))
        assert (137, "memory") == (process.wait(60), process.cause)

    def test_a_killed_grader_s_groups_are_removed_by_the_next(self, real: Groups) -> None:
        code = """
import time
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
with choose_sandbox(None, minimum="none") as sandbox:
    process = sandbox.start(Command("python", ("-c", "import time; time.sleep(60)")))
    print(*process._group.folders, flush=True)
    time.sleep(60)
"""
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as grader:
            assert grader.stdout is not None
            folders = [Path(word.decode()) for word in grader.stdout.readline().split()]
            assert [True] * len(folders) == [folder.exists() for folder in folders]
            grader.kill()
        deadline = time.monotonic() + 20
        while any(folder.exists() for folder in folders):
            assert time.monotonic() < deadline
            real.sweep()
            time.sleep(0.1)

    def test_the_greedy_one_goes_before_the_machine_is_full(self, real: Groups) -> None:
        """Of two sandboxes within their limits, in a machine that is too small for both."""
        small = real.make(Quota(memory=1500 * MEGABYTE, processes=512))
        code = f"""
import time
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
grow = "import time; kept = [bytearray(b'x') * 2**25 for _ in range({{}})]; time.sleep({{}})"
with choose_sandbox({os.environ.get("GRADER_TEST_LEVEL")!r}, minimum="none") as sandbox:
    modest = sandbox.start(Command("python", ("-c", grow.format(5, 8))))
    greedy = sandbox.start(Command("python", ("-c", grow.format(200, 60))))
    print(greedy.wait(60), greedy.cause, modest.wait(60), modest.cause)
"""
        entrances = [str(folder / "cgroup.procs") for folder in small.folders]
        script = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 1; shift; done; shift; exec "$@"'
        done = subprocess.run(
            ["/bin/sh", "-c", script, "sh", *entrances, "--", sys.executable, "-c", code],
            env={**os.environ, SWITCH: "off"},
            capture_output=True,
            text=True,
        )
        small.remove()
        assert "137 machine 0 \n" == done.stdout, done.stderr


def test_without_groups_the_level_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SWITCH, "off")
    with choose_sandbox(None, minimum="none") as sandbox:
        assert sandbox.groups is None
        process = sandbox.start(Command("python", ("-c", "pass")))
        assert 0 == process.wait(30)


def test_a_machine_without_groups_has_no_bounds_of_them(tmp_path: Path) -> None:
    assert () == bounding_folders(Files(root=tmp_path, proc=tmp_path, sys=tmp_path))
