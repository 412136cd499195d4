"""What a program tries at its box, its group, its warden and those who are graded beside it.

The level is that of GRADER_TEST_LEVEL.
"""

from __future__ import annotations

import os
import resource
import time

import pytest

from grader.machine.quiet import SHARED_PLACE, TimingLock
from grader.sandbox.groups import BoxGroup
from grader.sandbox.interface import Command, ResourceLimits
from grader.sandbox.start import SteppingSandbox
from tests.conftest import require
from tests.missing import NO_GROUPS
from tests.sandbox.inside import report_from

MEGABYTE = 2**20


def test_signals_to_all_and_to_the_first_process_end_no_box(sandbox: SteppingSandbox) -> None:
    require(sandbox, "container")
    code = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for number in (-1, 1):
    for kind in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        if number == -1 and kind != signal.SIGTERM:
            continue
        try:
            os.kill(number, kind)
        except (PermissionError, ProcessLookupError):
            pass
report(len([name for name in os.listdir("/proc") if name.isdecimal()]))
"""
    assert report_from(sandbox, code) == 2


def test_a_user_s_processes_outside_are_not_slowed_down_by_number_of_user(
    sandbox: SteppingSandbox,
) -> None:
    require(sandbox, "container")
    before = os.getpriority(os.PRIO_PROCESS, 0)
    code = "os.setpriority(os.PRIO_USER, 0, 19); report(os.getpriority(os.PRIO_PROCESS, 0))"
    assert report_from(sandbox, code) == 19
    assert os.getpriority(os.PRIO_PROCESS, 0) == before


def test_who_rates_itself_lower_is_rated_anew(sandbox: SteppingSandbox) -> None:
    """Else the kernel would end its neighbours first when the machine has no memory."""
    code = """
import time
try:
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("0")
except OSError:
    pass
time.sleep(1)
report(int(open("/proc/self/oom_score_adj").read()))
"""
    assert report_from(sandbox, code) >= 500


def test_who_filled_its_group_has_itself_to_blame_whatever_ends_it(
    sandbox: SteppingSandbox,
) -> None:
    """The kernel has killed for want of memory, and it held little: so might a victim look."""
    if sandbox.groups is None:
        pytest.skip(NO_GROUPS)
    code = """
import os, signal
for _ in range(40):
    if os.fork() == 0:
        kept = bytearray(b"x") * (50 * 2**20)
        signal.pause()
while True:
    number, status = os.wait()
    if status == signal.SIGKILL:
        os.kill(os.getpid(), signal.SIGKILL)
"""
    limits = ResourceLimits(memory=100 * MEGABYTE, scratch=MEGABYTE)
    process = sandbox.start(Command("python", ("-c", code), limits=limits))
    assert process.wait(30) == 137
    assert process.cause == "memory"


def test_no_control_group_can_be_changed_from_within(sandbox: SteppingSandbox) -> None:
    require(sandbox, "minimal" if os.geteuid() == 0 else "basic")
    code = """
found = []
for folder, _, names in os.walk("/sys/fs/cgroup"):
    found += [f"{folder}/{name}" for name in names if os.access(f"{folder}/{name}", os.W_OK)]
report(found[:3])
"""
    assert report_from(sandbox, code) == []


def test_a_group_is_gone_with_the_many_processes_in_it(sandbox: SteppingSandbox) -> None:
    if sandbox.groups is None:
        pytest.skip(NO_GROUPS)
    code = """
import os, time
for _ in range(200):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
os.write(3, b".")
time.sleep(60)
"""
    reader, writer = os.pipe()
    process = sandbox.start(Command("python", ("-c", code), descriptors=(writer,)))
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        assert stream.read(1) == b"."
        group = process._group
        assert isinstance(group, BoxGroup)
        assert all(folder.exists() for folder in group.folders)
        process.kill()
    assert [] == [folder for folder in group.folders if folder.exists()]


def test_the_turn_to_time_cannot_be_taken_by_what_is_graded(sandbox: SteppingSandbox) -> None:
    require(sandbox, "basic")
    with TimingLock().turn(lambda: None):
        assert SHARED_PLACE.exists()
    code = f"""
import fcntl
try:
    with open({str(SHARED_PLACE)!r}) as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        report("taken")
except OSError:
    report("refused")
"""
    assert report_from(sandbox, code) == "refused"


def test_what_floods_standard_error_is_not_kept(sandbox: SteppingSandbox) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = "import os\nfor _ in range(200): os.write(2, bytes(2**20))"
    process = sandbox.start(Command("python", ("-c", code)))
    assert process.wait(60) == 0
    assert len(process.standard_error) < MEGABYTE
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < before + 50 * 1024


def test_names_of_descriptors_that_were_inherited_lead_nowhere(sandbox: SteppingSandbox) -> None:
    """What they lead to outside could be opened anew, with other rights."""
    require(sandbox, "container")
    code = """
found = []
for number in os.listdir("/proc/self/fd"):
    try:
        target = os.readlink(f"/proc/self/fd/{number}")
        if target.startswith("/") and target not in ("/dev/null", f"/proc/{os.getpid()}/fd"):
            found.append(target)
    except FileNotFoundError:
        pass
report(found)
"""
    assert report_from(sandbox, code) == []


def test_a_box_ends_though_its_processes_have_stopped_each_other(
    sandbox: SteppingSandbox,
) -> None:
    code = """
import os, signal, time
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        os.kill(os.getpid(), signal.SIGSTOP)
os.write(3, b".")
os.kill(os.getpid(), signal.SIGSTOP)
"""
    reader, writer = os.pipe()
    process = sandbox.start(Command("python", ("-c", code), descriptors=(writer,)))
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        assert stream.read(1) == b"."
        begin = time.monotonic()
        process.kill()
        assert time.monotonic() - begin < 10
        assert stream.read() == b""  # nobody has its other end any more
