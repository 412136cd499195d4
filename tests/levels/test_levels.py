"""What every level of isolation keeps, and what only the stronger ones do.

The level is that of GRADER_TEST_LEVEL; `make levels` runs this file for each of them, as root and
as a user.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command, Level, ResourceLimits
from grader.sandbox.start import SteppingSandbox
from tests.conftest import ROOT, require
from tests.execute.conftest import run_cells
from tests.missing import needs_root
from tests.sandbox.inside import command_lines, report_from, some_seconds

MEGABYTE = 2**20


@pytest.fixture
def secret() -> Iterator[Path]:
    """A file of the host that this user alone can read."""
    with tempfile.NamedTemporaryFile("w", prefix="secret-", dir="/var/tmp") as file:
        file.write("blue")
        file.flush()
        yield Path(file.name)


class TestPowers:
    def test_no_capability_is_left(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "minimal")
        code = """
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
report([int(status["CapEff"], 16), int(status["CapBnd"], 16) if os.getuid() else 0])
"""
        effective, _ = report_from(sandbox, code)
        assert effective == 0

    @needs_root("only root has user ids to give away")
    def test_root_gives_every_program_a_user_id_of_its_own(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "minimal")
        users = {report_from(sandbox, "report(os.getuid())") for _ in range(3)}
        assert len(users) == 3
        assert 0 not in users

    def test_kernel_settings_of_the_host_cannot_be_written(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "minimal")
        code = """
paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger"]
report([path for path in paths if os.access(path, os.W_OK)])
"""
        assert report_from(sandbox, code) == []


class TestWhatNotebooksNeed:
    def test_a_terminal_can_be_opened(self, sandbox: SteppingSandbox) -> None:
        """`!command` of a notebook runs in one; kernel/entry.py does without at "basic"."""
        if sandbox.level == "basic":
            require(sandbox, "container")
        code = """
import pty
pid, terminal = pty.fork()
if pid == 0:
    os.execvp("echo", ["echo", "heard"])
heard = b""
try:
    while part := os.read(terminal, 100):
        heard += part
except OSError:  # the other side is closed
    pass
os.waitpid(pid, 0)
report(heard.decode().strip())
"""
        assert report_from(sandbox, code) == "heard"

    def test_a_kernel_has_a_temporary_folder_of_its_own(self) -> None:
        """Whatever its launcher has imported: torchvision looks for one, and all kernels had it."""
        level = cast("Level | None", os.environ.get("GRADER_TEST_LEVEL"))
        cell = """
import os, sys, tempfile
assert "torchvision" in sys.modules
tempfile.mkstemp()
print(os.path.samefile(tempfile.gettempdir(), os.environ.get("TMPDIR", "/tmp")))
"""
        with choose_sandbox(level, "none", imports=("torchvision",)) as sandbox:
            execution = run_cells(sandbox, cell)
        assert () == execution.problems
        assert "True\n" == execution.notebook.cells[0].outputs[0].text


class TestReach:
    def test_there_is_no_network(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "minimal")
        code = """
import errno, socket
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
    report("connected")
except OSError as error:
    report(errno.errorcode[error.errno])
"""
        assert report_from(sandbox, code) in ("ENETUNREACH", "EACCES")

    def test_a_socket_of_the_host_cannot_be_met_by_name(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "minimal")
        import socket

        with socket.socket(socket.AF_UNIX) as listener:
            name = f"\0grader-levels-test-{os.getpid()}"
            listener.bind(name)
            listener.listen()
            code = f"""
import socket
try:
    with socket.socket(socket.AF_UNIX) as one:
        one.connect({name!r})
    report("connected")
except OSError:
    report("refused")
"""
            assert report_from(sandbox, code) == "refused"

    def test_files_of_the_host_cannot_be_read(self, sandbox: SteppingSandbox, secret: Path) -> None:
        require(sandbox, "basic")
        code = f"""
try:
    report(open({str(secret)!r}).read())
except OSError:
    report("refused")
"""
        assert report_from(sandbox, code) == "refused"

    def test_nothing_can_be_written_but_in_its_own_folders(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "basic")
        code = """
import sys
written = []
for place in ("/", "/usr", "/etc", "/var/tmp", "/run", "/dev", "/home", sys.prefix):
    try:
        open(os.path.join(place, "trace"), "w").close()
        written.append(place)
    except OSError:
        pass
report(written)
"""
        assert report_from(sandbox, code) == []

    def test_another_submission_s_folder_is_closed(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "basic")
        code = "report([path for path, _, names in os.walk('/tmp') if 'answers.txt' in names])"
        command = Command(
            "python", ("-c", "import time; time.sleep(30)"), files={"answers.txt": b"42"}
        )
        other = sandbox.start(command)
        try:
            found = report_from(sandbox, code)
        finally:
            other.kill()
        assert found == []

    def test_a_process_of_the_host_cannot_be_signalled(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "basic")
        code = f"""
try:
    os.kill({os.getpid()}, 0)
    report("possible")
except OSError:
    report("refused")
"""
        assert report_from(sandbox, code) == "refused"


class TestFiles:
    def test_files_arrive_and_may_be_changed(self, sandbox: SteppingSandbox) -> None:
        code = """
before = open("data/raw").read()
open("data/raw", "w").write("new")
os.rename("data/raw", "data/renamed")
report([before, open("data/renamed").read(), os.listdir()])
"""
        answer = report_from(sandbox, code, files={"data/raw": b"old"})
        assert answer == ["old", "new", ["data"]]

    def test_its_folder_is_gone_with_it(self, sandbox: SteppingSandbox) -> None:
        code = (
            "os.makedirs('a/b'); open('a/b/c', 'w').close(); os.chmod('a', 0); report(os.getcwd())"
        )
        folder = report_from(sandbox, code)
        assert folder == "/scratch" or not Path(folder).exists()


class TestLimits:
    def test_memory_counts_for_all_processes_together(self, sandbox: SteppingSandbox) -> None:
        code = """
import time
for _ in range(4):
    if os.fork() == 0:
        kept = bytearray(os.urandom(1)) * (80 * 2**20)
        time.sleep(60)
time.sleep(60)
"""
        process = sandbox.start(
            Command(
                "python", ("-c", "import os" + code), limits=ResourceLimits(memory=200 * MEGABYTE)
            )
        )
        assert process.wait(30) == 137
        assert process.cause == "memory"

    def test_a_process_counts_whose_first_thread_has_ended(self, sandbox: SteppingSandbox) -> None:
        """What /proc tells of that thread is nothing; another one holds the memory."""
        code = """
import ctypes, os, platform, threading, time

def hoard():
    kept = bytearray(os.urandom(1)) * (80 * 2**20)
    time.sleep(60)

for _ in range(4):
    if os.fork() == 0:
        threading.Thread(target=hoard).start()
        ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
time.sleep(60)
"""
        limits = ResourceLimits(memory=200 * MEGABYTE)
        process = sandbox.start(Command("python", ("-c", code), limits=limits))
        assert process.wait(30) == 137
        assert process.cause == "memory"

    def test_memory_in_sockets_counts(self, sandbox: SteppingSandbox) -> None:
        code = """
import socket, time
kept = []
try:
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
except OSError:
    time.sleep(60)
"""
        limits = ResourceLimits(memory=100 * MEGABYTE)
        process = sandbox.start(Command("python", ("-c", code), limits=limits))
        assert process.wait(30) == 137
        assert process.cause == "memory"

    def test_open_files_of_all_processes_are_counted(self, sandbox: SteppingSandbox) -> None:
        code = """
import os, time
for _ in range(50):
    if os.fork() == 0:
        try:
            while True:
                os.open("/dev/null", os.O_RDONLY)
        except OSError:
            time.sleep(60)
time.sleep(60)
"""
        process = sandbox.start(Command("python", ("-c", code)))
        assert process.wait(60) == 137
        assert process.cause == "descriptors"

    def test_most_that_it_held_is_told(self, sandbox: SteppingSandbox) -> None:
        code = "import time; kept = bytearray(b'x') * (200 * 2**20); time.sleep(1)"
        process = sandbox.start(Command("python", ("-c", code)))
        assert process.wait(30) == 0
        assert 200 * MEGABYTE <= process.peak <= 400 * MEGABYTE

    def test_too_many_files_end_it(self, sandbox: SteppingSandbox) -> None:
        code = """
import time
for number in range(3000):
    open(str(number), "w").close()
time.sleep(60)
"""
        process = sandbox.start(Command("python", ("-c", code), limits=ResourceLimits(files=1000)))
        assert process.wait(30) == 137
        assert process.cause == "files"

    def test_a_folder_that_was_closed_hides_nothing(self, sandbox: SteppingSandbox) -> None:
        code = """
import os, time
os.mkdir("closed")
for number in range(2000):
    open(f"closed/{number}", "w").close()
os.chmod("closed", 0)
time.sleep(60)
"""
        process = sandbox.start(Command("python", ("-c", code), limits=ResourceLimits(files=1000)))
        assert process.wait(30) == 137
        assert process.cause == "files"

    def test_what_is_written_is_bounded(self, sandbox: SteppingSandbox) -> None:
        code = """
import time
try:
    for number in range(60):
        open(str(number), "wb").write(bytes(2**20))
    time.sleep(60)
except OSError as error:
    raise SystemExit(error.errno)
"""
        limits = ResourceLimits(scratch=20 * MEGABYTE)
        process = sandbox.start(Command("python", ("-c", code), limits=limits))
        status = process.wait(30)
        assert (status, process.cause) in ((28, ""), (137, "disk"))

    def test_processes_are_counted(self, sandbox: SteppingSandbox) -> None:
        code = """
import os, time
try:
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(60)
except BlockingIOError:
    os._exit(11)
time.sleep(60)
"""
        process = sandbox.start(
            Command("python", ("-c", code), limits=ResourceLimits(processes=30))
        )
        status = process.wait(30)
        assert (status, process.cause) in ((11, ""), (137, "processes"))


class TestEnd:
    def test_a_fork_bomb_leaves_nothing(self, sandbox: SteppingSandbox) -> None:
        marker = some_seconds()
        code = f"""
import os, time
for _ in range(6):
    os.fork()
os.setsid() if os.getpid() != os.getpgid(0) else None
os.execvp("sleep", ["sleep", {marker!r}])
"""
        process = sandbox.start(Command("python", ("-c", code)))
        deadline = time.monotonic() + 20
        while sum(f"sleep {marker}" in line for line in command_lines()) < 60:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.kill()
        assert not any(f"sleep {marker}" in line for line in command_lines())

    def test_what_the_program_leaves_behind_ends_with_it(self, sandbox: SteppingSandbox) -> None:
        marker = some_seconds()
        code = f"""
import subprocess, time
subprocess.Popen(["setsid", "sleep", {marker!r}])
time.sleep(0.3)
"""
        process = sandbox.start(Command("python", ("-c", code)))
        assert process.wait(20) == 0
        assert not any(f"sleep {marker}" in line for line in command_lines())

    def test_a_box_ends_with_siblings_of_the_program(self, sandbox: SteppingSandbox) -> None:
        """They are its warden's children. This process is an orphan's parent that buries none."""
        import subprocess
        import sys

        inside = """
import ctypes, platform, time
CLONE_PARENT = 0x8000
clone = {"x86_64": 56, "aarch64": 220}[platform.machine()]
if ctypes.CDLL(None).syscall(clone, CLONE_PARENT, None, None, None, None) == 0:
    time.sleep(60)
time.sleep(0.3)
"""
        code = f"""
from grader.inside.launcher.linux import adopt_orphans
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
adopt_orphans()
with choose_sandbox({sandbox.level!r}, minimum="none") as sandbox:
    process = sandbox.start(Command("python", ("-c", {inside!r})))
    print(process.wait(20))
    process.kill()
"""
        ended = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
        assert b"0\n" == ended.stdout, ended.stderr

    def test_a_killed_grader_leaves_nothing(self, sandbox: SteppingSandbox) -> None:
        import subprocess
        import sys

        marker = some_seconds()
        code = f"""
import time
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
with choose_sandbox({sandbox.level!r}, minimum="none") as sandbox:
    inside = "import os; os.execvp('sleep', ['sleep', {marker!r}])"
    process = sandbox.start(Command("python", ("-c", inside)))
    time.sleep(60)
"""
        with subprocess.Popen([sys.executable, "-c", code]) as started:
            deadline = time.monotonic() + 20
            while not any(f"sleep {marker}" in line for line in command_lines()):
                assert time.monotonic() < deadline
                time.sleep(0.02)
            started.kill()
        deadline = time.monotonic() + 10
        while any(f"sleep {marker}" in line for line in command_lines()):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def test_it_ends_with_its_warden(self, sandbox: SteppingSandbox) -> None:
        """The machine may end any process when it has no memory left: nothing goes on unwatched."""
        marker = some_seconds()
        inside = f"import os; os.execvp('sleep', ['sleep', {marker!r}])"
        process = sandbox.start(Command("python", ("-c", inside)))
        while not any(f"sleep {marker}" in line for line in command_lines()):
            time.sleep(0.02)
        for warden in _children(sandbox._launchers["bare"].pid):
            os.kill(warden, signal.SIGKILL)
        assert process.wait(20) == 137
        deadline = time.monotonic() + 10
        while any(f"sleep {marker}" in line for line in command_lines()):
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def test_so_it_does_where_nobody_buries_orphans(self, sandbox: SteppingSandbox) -> None:
        """As in a container whose first process is a shell."""
        import subprocess
        import sys

        marker = some_seconds()
        inside = f"import os; os.execvp('sleep', ['sleep', {marker!r}])"
        code = f"""
import os, signal
from grader.inside.launcher.linux import adopt_orphans
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
from tests.levels.test_levels import _children, command_lines
adopt_orphans()
with choose_sandbox({sandbox.level!r}, minimum="none") as sandbox:
    process = sandbox.start(Command("python", ("-c", {inside!r})))
    while not any("sleep " + {marker!r} in line for line in command_lines()):
        pass
    for warden in _children(sandbox._launchers["bare"].pid):
        os.kill(warden, signal.SIGKILL)
    print(process.wait(20))
"""
        words = [sys.executable, "-c", code]
        ended = subprocess.run(words, capture_output=True, timeout=60, cwd=ROOT)
        assert b"137\n" == ended.stdout, ended.stderr

    def test_an_abandoned_process_is_ended(self, sandbox: SteppingSandbox) -> None:
        import gc

        marker = some_seconds()
        inside = f"import os; os.execvp('sleep', ['sleep', {marker!r}])"
        process = sandbox.start(Command("python", ("-c", inside)))
        while not any(f"sleep {marker}" in line for line in command_lines()):
            time.sleep(0.02)
        del process
        gc.collect()
        assert not any(f"sleep {marker}" in line for line in command_lines())


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
