"""What a sandboxed process can see, reach and use up: tried from inside a real sandbox."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import grader
from grader.errors import SandboxError
from grader.sandbox.bubblewrap import BubblewrapBoxes
from grader.sandbox.interface import Command, ResourceLimits, Sandbox
from tests.missing import needs_root
from tests.sandbox.inside import command_lines, report_from
from tests.users import USER, as_user, need_user_namespaces

REPOSITORY = Path(grader.__file__).parents[1]


def boxes_of(executable: str) -> BubblewrapBoxes:
    return BubblewrapBoxes(executable, "bubblewrap", frozenset(), b"", as_root=False)


class TestPowers:
    def test_no_capability_is_left(self, sandbox: Sandbox) -> None:
        code = """
status = open("/proc/self/status").read().splitlines()
report({line.split()[0]: line.split()[1] for line in status if line[:3] in ("Cap", "NoN")})
"""
        powers = report_from(sandbox, code)
        assert powers.pop("NoNewPrivs:") == "1"
        assert set(powers.values()) == {"0" * 16}

    def test_kernel_settings_of_the_host_cannot_be_written(self, sandbox: Sandbox) -> None:
        code = """
paths = ["/proc/sys/kernel/core_pattern", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger"]
report([path for path in paths if os.access(path, os.W_OK)])
"""
        assert report_from(sandbox, code) == []

    @needs_root("only root has user ids to give away")
    def test_two_sandboxes_of_root_have_different_user_ids(self, sandbox: Sandbox) -> None:
        first, second = (report_from(sandbox, "report(os.getuid())") for _ in range(2))
        assert first != second
        assert 0 not in (first, second)

    def test_the_user_id_has_a_name_and_a_home(self, sandbox: Sandbox) -> None:
        code = "import pwd; user = pwd.getpwuid(os.getuid()); report([user.pw_name, user.pw_dir])"
        assert report_from(sandbox, code) == ["student", "/scratch"]


class TestReach:
    def test_there_is_no_network(self, sandbox: Sandbox) -> None:
        code = """
import socket
found = [line.split(":")[0].strip() for line in open("/proc/net/dev").readlines()[2:]]
try:
    socket.create_connection(("192.0.2.1", 80), timeout=2)
    found.append("connected")
except OSError as error:
    report([found, error.errno])
"""
        assert report_from(sandbox, code) == [["lo"], 101]  # ENETUNREACH, at once

    def test_processes_of_the_host_are_not_visible(self, sandbox: Sandbox) -> None:
        code = "report(sorted(int(name) for name in os.listdir('/proc') if name.isdigit()))"
        assert report_from(sandbox, code)[-1] < 10

    def test_folders_of_the_host_are_absent(self, sandbox: Sandbox) -> None:
        places = [
            str(Path.home() / ".ssh"),
            "/home",
            "/var",
            "/opt",
            "/etc/shadow",
            "/boot",
            "/sys",
        ]
        places += [
            str(REPOSITORY / name) for name in ("assignments", "reference", "grader", "tests")
        ]
        # where the environment lies in one of them, the folder is there, with nothing else in it
        around = {str(each) for each in Path(sys.prefix).parents}
        places = [each for each in places if each not in around]
        code = f"report([place for place in {places!r} if os.path.exists(place)])"
        assert report_from(sandbox, code) == []

    def test_only_asked_for_descriptors_are_inherited(self, sandbox: Sandbox) -> None:
        # the descriptor of the report, and the one that lists the folder
        with Path(__file__).open() as unrelated:
            os.set_inheritable(unrelated.fileno(), True)
            code = "report([int(name) for name in os.listdir('/proc/self/fd')])"
            descriptors = report_from(sandbox, code)
        assert {0, 1, 2} < set(descriptors)
        assert len(descriptors) == 5

    def test_nothing_of_the_grader_can_be_imported(self, sandbox: Sandbox) -> None:
        code = """
try:
    import grader.errors
    report(grader.__file__)
except ImportError:
    report(None)
"""
        assert report_from(sandbox, code) is None

    def test_the_command_line_of_pid_1_shows_no_options(self, sandbox: Sandbox) -> None:
        code = "report(open('/proc/1/cmdline').read())"
        line = report_from(sandbox, code, environment={"COLOUR": "secret-blue"})
        assert "secret-blue" not in line
        assert "--ro-bind" not in line


class TestEnvironment:
    def test_it_is_fixed_but_for_what_the_command_adds(self, sandbox: Sandbox) -> None:
        code = "report(dict(os.environ))"
        environment = report_from(sandbox, code, environment={"TVM_NUM_THREADS": "3"})
        environment.pop("PWD", None)
        assert environment == {
            "HOME": "/scratch",
            "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TVM_BIND_THREADS": "0",
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "TVM_NUM_THREADS": "3",
        }

    def test_host_name_and_working_folder_are_the_sandbox_s(self, sandbox: Sandbox) -> None:
        code = "report([os.uname().nodename, os.getcwd()])"
        assert report_from(sandbox, code) == ["sandbox", "/scratch"]


class TestFiles:
    def test_relative_names_land_in_the_working_folder_and_may_be_changed(
        self, sandbox: Sandbox
    ) -> None:
        code = """
before = open("data/raw/images").read()
open("data/raw/images", "w").write("new")
os.rename("data/raw/images", "data/raw/renamed")
open("data/raw/more", "w").close()
os.remove("note")
report([before, open("data/raw/renamed").read(), sorted(os.listdir("data/raw")), os.listdir()])
"""
        files = {"data/raw/images": b"old", "note": b""}
        expected = ["old", "new", ["more", "renamed"], ["data"]]
        assert report_from(sandbox, code, files=files) == expected

    def test_large_files_arrive_whole(self, sandbox: Sandbox) -> None:
        content = os.urandom(20 * 2**20)
        code = "import zlib; report(zlib.crc32(open('large', 'rb').read()))"
        import zlib

        assert report_from(sandbox, code, files={"large": content}) == zlib.crc32(content)

    @pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/etc/x", "", "."])
    def test_a_name_that_leads_out_is_refused(self, sandbox: Sandbox, name: str) -> None:
        with pytest.raises(SandboxError, match="points outside"):
            sandbox.start(Command("python", ("-c", "pass"), files={name: b""}))

    def test_the_system_is_read_only(self, sandbox: Sandbox) -> None:
        places = ["/", "/usr", "/etc", "/run", "/dev", sys.prefix, sys.base_prefix]
        code = f"""
written = []
for place in {places!r}:
    try:
        open(os.path.join(place, "trace"), "w").close()
        written.append(place)
    except OSError:
        pass
report(written)
"""
        assert report_from(sandbox, code) == []


class TestLimits:
    @pytest.mark.parametrize(
        ("folder", "megabytes"), [("/scratch", 16), ("/tmp", 256), ("/dev/shm", 64)]
    )
    def test_writable_folders_are_bounded(
        self, sandbox: Sandbox, folder: str, megabytes: int
    ) -> None:
        code = f"""
written = 0
try:
    for number in range(40):
        with open({folder!r} + "/" + str(number), "wb") as file:
            for _ in range(8):
                written += file.write(bytes(2**20))
                file.flush()
except OSError as error:
    report([written >> 20, error.errno])
"""
        limits = ResourceLimits(scratch=16 * 2**20)
        written, reason = report_from(sandbox, code, limits=limits)
        assert reason == 28  # ENOSPC
        assert megabytes - 2 <= written <= megabytes

    def test_too_much_memory_is_a_memory_error(self, sandbox: Sandbox) -> None:
        code = """
kept = bytearray(128 * 2**20)
try:
    bytearray(512 * 2**20)
except MemoryError:
    report("refused")
"""
        limits = ResourceLimits(memory=256 * 2**20)
        assert report_from(sandbox, code, limits=limits) == "refused"

    def test_shared_mappings_are_bounded_too(self, sandbox: Sandbox) -> None:
        code = """
import mmap
try:
    mmap.mmap(-1, 6 * 2**30)
except OSError:
    report("refused")
"""
        limits = ResourceLimits(memory=256 * 2**20)
        assert report_from(sandbox, code, limits=limits) == "refused"

    def test_processes_are_counted(self, sandbox: Sandbox) -> None:
        code = """
import time
children = 0
try:
    while children < 100:
        if os.fork() == 0:
            time.sleep(60)
        children += 1
except BlockingIOError:
    pass
report(children)
os._exit(0)
"""
        limits = ResourceLimits(processes=20)
        assert 10 <= report_from(sandbox, code, limits=limits) <= 20

    def test_files_and_descriptors_are_bounded(self, sandbox: Sandbox) -> None:
        code = """
import resource
names = ("NOFILE", "FSIZE", "CORE", "CPU")
report([resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in names])
"""
        limits = ResourceLimits(open_files=100, file_size=2**20, cpu_seconds=7)
        expected = [[100, 100], [2**20, 2**20], [0, 0], [7, 12]]
        assert report_from(sandbox, code, limits=limits) == expected

    def test_processor_time_ends_with_a_signal_of_its_own(self, sandbox: Sandbox) -> None:
        command = Command(
            "python", ("-c", "while True: pass"), limits=ResourceLimits(cpu_seconds=1)
        )
        assert sandbox.start(command).wait(30) == 128 + 24  # SIGXCPU


class TestStart:
    def test_the_end_of_the_starting_thread_is_not_the_sandbox_s_end(
        self, sandbox: Sandbox
    ) -> None:
        started = []

        def start() -> None:
            started.append(sandbox.start(Command("python", ("-c", "import time; time.sleep(60)"))))
            time.sleep(0.3)  # by now bubblewrap has asked to end with its parent

        thread = threading.Thread(target=start)
        thread.start()
        thread.join()
        process = started[0]
        try:
            assert process.wait(0.3) is None
        finally:
            process.kill()

    def test_a_sandbox_ends_with_the_grader(self) -> None:
        """The grader may be killed: nothing that it started must go on."""
        code = """
import os, sys, time
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
inside = "import os, time; os.write(3, b'go' + bytes([10])); time.sleep(60); 'grader-was-killed'"
process = choose_sandbox().start(Command("python", ("-c", inside), descriptors=(1,)))
time.sleep(60)
"""
        started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        with started:
            assert started.stdout is not None
            assert started.stdout.readline() == b"go\n"
            started.kill()
        deadline = time.monotonic() + 10
        while any("grader-was-killed" in line for line in command_lines()):
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def test_a_machine_that_refuses_is_an_error_with_its_reason(self, tmp_path: Path) -> None:
        refusing = tmp_path / "bwrap"
        refusing.write_text("#!/bin/sh\necho 'bwrap: no namespaces here' >&2\nexit 1\n")
        refusing.chmod(0o755)
        boxes = boxes_of(str(refusing))
        with pytest.raises(SandboxError, match="no namespaces here"):
            boxes.make(Command("python", ("-c", "pass")))

    def test_a_missing_program_is_an_error(self) -> None:
        boxes = boxes_of("/no/bwrap")
        with pytest.raises(SandboxError, match="cannot be started"):
            boxes.make(Command("python", ("-c", "pass")))


USER_MODE = """
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
inside = '''
import os, sys
powers = [line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")]
open("a/b", "w").write("new")
nested = os.system("unshare --user true 2>/dev/null")
written = os.system("for place in / /etc /dev; do touch $place/x 2>/dev/null && exit; done; false")
facts = [set(powers) == {"0" * 16}, open("a/b").read(), nested != 0, written != 0]
print(os.getuid(), *facts, file=sys.stderr)
'''
with choose_sandbox("strong") as sandbox:
    process = sandbox.start(Command("python", ("-c", inside), files={"a/b": b"old"}))
    print(process.wait(20), process.standard_error, sandbox.detail.english)
"""


@needs_root("only root can become another user")
def test_a_user_gets_a_sandbox_with_a_user_namespace() -> None:
    """The mode of a user, tried from root by becoming one."""
    need_user_namespaces()
    done = subprocess.run(
        as_user([sys.executable, "-c", USER_MODE]),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.startswith(f"0 {USER} True new True True"), done.stdout
    assert "a separate user namespace" in done.stdout


CHANGED_ROOT = 'mount --rbind / "$0" && exec chroot "$0" "$@"'


@needs_root("only root can change its root")
def test_a_grader_whose_root_was_changed_steps_into_the_box(tmp_path: Path) -> None:
    """Who joins the box's mounts gets the machine's first one as root, outside of the box."""
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", CHANGED_ROOT, tmp_path, sys.executable, "-c", USER_MODE],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert " True new True True" in done.stdout
