"""What every process of every kind of box may do, at each level of isolation.

The kinds differ in what runs in them. Each is started as in a grading, and all that is alive in its
box is looked at from outside, in /proc of the host.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from grader.errors import SandboxError
from grader.evidence.runner_client import start_runner
from grader.inside.launcher.usage import all_processes, descendants
from grader.language import foreign
from grader.sandbox.choose import look, try_out
from grader.sandbox.interface import WITH_NAMESPACES, Command, Level, ResourceLimits
from grader.sandbox.process import Box, Boxes
from grader.sandbox.start import SteppingSandbox
from tests.conftest import require
from tests.execute.conftest import run_cells
from tests.sandbox.inside import report_from

SETS = ("CapInh", "CapPrm", "CapEff", "CapAmb")
BOUNDED = ("cpu time", "file size", "data size", "processes", "open files", "address space")


@dataclass(frozen=True)
class Seen:
    """One process: what its status says, which limits it lacks, and whose its memory is."""

    name: str
    status: dict[str, str]
    unbounded: list[str]
    memory_of: int
    namespace: str | None

    @property
    def user(self) -> int:
        return int(self.status["Uid"].split()[0])


def seen(number: int) -> Seen:
    folder = Path(f"/proc/{number}")
    lines = (folder / "status").read_text().splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    rows = (folder / "limits").read_text().splitlines()[1:]
    limits = {row[:26].strip().removeprefix("Max "): row[26:].split()[1] for row in rows}
    unbounded = [name for name in BOUNDED if limits[name] == "unlimited"]
    return Seen(
        status["Name"], status, unbounded, (folder / "mem").stat().st_uid, namespace(number)
    )


def in_boxes(sandbox: SteppingSandbox) -> tuple[list[Seen], list[Seen]]:
    """Return the holders of the boxes of a sandbox, and the programs that have stepped in."""
    launchers = [each.pid for each in sandbox._launchers.values()]
    wardens = {each for launcher in launchers for each in children(launcher)}
    programs = {each for warden in wardens for each in descendants(warden)}
    inside = {namespace(each) for each in programs} - {namespace(os.getpid()), None}
    boxed = {each for each in all_processes() if namespace(each) in inside}
    return [seen(each) for each in sorted(boxed - programs)], [
        seen(each) for each in sorted(programs)
    ]


def children(number: int) -> list[int]:
    return [
        int(word) for word in Path(f"/proc/{number}/task/{number}/children").read_text().split()
    ]


def namespace(number: int) -> str | None:
    try:
        return str(Path(f"/proc/{number}/ns/pid").readlink())
    except OSError:
        return None  # it has ended, or is none of ours


@contextmanager
def kernel(sandbox: SteppingSandbox) -> Iterator[None]:
    cell = "import time; time.sleep(8)"
    notebook = Thread(target=run_cells, args=(sandbox, cell))
    notebook.start()
    try:
        yield
    finally:
        notebook.join()


@contextmanager
def runner(sandbox: SteppingSandbox) -> Iterator[None]:
    with start_runner(sandbox, "pure", ResourceLimits(), {}):
        yield


@contextmanager
def evaluator(sandbox: SteppingSandbox) -> Iterator[None]:
    with start_runner(sandbox, "extern", ResourceLimits(), {}):
        yield


@contextmanager
def library(sandbox: SteppingSandbox) -> Iterator[None]:
    with start_runner(sandbox, "library", ResourceLimits(), {}):
        yield


KINDS = (kernel, runner, evaluator, library)
"""A runner that times, or makes mutants, is a runner: it is only asked for something else."""


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def box(
    request: pytest.FixtureRequest, sandbox: SteppingSandbox
) -> Iterator[tuple[list[Seen], list[Seen]]]:
    """The holders and the programs of a kind of box, once they have given up what they had.

    They are looked at once for all tests: a kernel runs for seconds.
    """
    kind: Callable[[SteppingSandbox], AbstractContextManager[None]] = request.param
    with kind(sandbox):
        deadline = time.monotonic() + 100
        while not is_ready(*(found := in_boxes(sandbox)), sandbox.level):
            assert time.monotonic() < deadline, found
            time.sleep(0.05)
        yield found


def is_ready(holders: list[Seen], programs: list[Seen], level: Level) -> bool:
    """The last that a program gets is its own files in /proc, after the limits and the filter.

    Of a box that is ending the program may be there for a moment longer than its holder.
    """
    if level in WITH_NAMESPACES and len(holders) != len(programs):
        return False
    if any(not each.namespace or each.user != each.memory_of for each in programs):
        return False
    if any(each.unbounded for each in programs):
        return False
    return bool(programs) and (
        level == "none" or all(each.status["Seccomp"] == "2" for each in programs)
    )


def test_no_process_of_a_box_has_powers(
    box: tuple[list[Seen], list[Seen]], sandbox: SteppingSandbox
) -> None:
    require(sandbox, "minimal")
    holders, programs = box
    assert len(programs) >= 1
    for process in (*holders, *programs):
        assert process.status["Seccomp"] == "2", process
        assert process.status["NoNewPrivs"] == "1", process
        assert {int(process.status[name], 16) for name in SETS} == {0}, process
        if os.geteuid() == 0 or sandbox.level in WITH_NAMESPACES:
            assert int(process.status["CapBnd"], 16) == 0, process


def test_every_process_of_a_box_is_limited(box: tuple[list[Seen], list[Seen]]) -> None:
    for process in (*box[0], *box[1]):
        assert process.unbounded == [], process


def test_nobody_in_a_box_owns_its_holder(
    box: tuple[list[Seen], list[Seen]], sandbox: SteppingSandbox
) -> None:
    require(sandbox, "container")
    holders, programs = box
    assert len(holders) == len(programs)
    assert {"cat"} == {each.name for each in holders}
    if os.geteuid() == 0 or sandbox.level == "strong":
        # what is closed is root's, who in a container of a user is that user: test_open_box.py
        assert not {each.memory_of for each in holders} & {each.user for each in programs}
    if os.geteuid() == 0:
        users = [each.user for each in (*holders, *programs)]
        assert len(users) == len(set(users))
        assert 0 not in users


KEYS = """
import ctypes, platform
keyctl = {"x86_64": 250, "aarch64": 219}[platform.machine()]
library = ctypes.CDLL(None, use_errno=True)
found = library.syscall(keyctl, 0, -3, 0)  # the session keyring's number
report([found, ctypes.get_errno()])
"""


def test_no_two_programs_share_a_session_keyring(sandbox: SteppingSandbox) -> None:
    """All that root starts would share one: what is left there outlives a submission."""
    found = [report_from(sandbox, KEYS) for _ in range(2)]
    if sandbox.level == "none":
        assert found[0][0] != found[1][0]
    else:
        assert found == [[-1, errno.EPERM]] * 2


class Spoilt:
    """Boxes of another maker whose programs keep their system calls."""

    detail = foreign("Spoilt.")

    def __init__(self, boxes: Boxes) -> None:
        self._boxes = boxes
        self.level: Level = boxes.level

    def make(self, command: Command) -> Box:
        box = self._boxes.make(command)
        unfiltered = msgspec.structs.replace(box.confinement, filter=b"")
        box.confinement = unfiltered  # type: ignore[misc]
        return box


def test_a_level_that_leaves_a_program_its_system_calls_is_refused(
    sandbox: SteppingSandbox,
) -> None:
    require(sandbox, "minimal")
    with (
        SteppingSandbox(Spoilt(sandbox._boxes)) as spoilt,
        pytest.raises(SandboxError, match="has access that it must not have: all system calls"),
    ):
        try_out(spoilt)


def test_without_namespaces_the_trial_looks_at_the_grader_s_processes(
    sandbox: SteppingSandbox,
) -> None:
    if sandbox.level in WITH_NAMESPACES:
        pytest.skip("they cannot be seen")
    assert look(sandbox).parents
