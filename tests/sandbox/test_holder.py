"""The system call filter: what is denied in a real sandbox, and that the rest still works."""

from __future__ import annotations

import errno
import importlib.util
import platform
from pathlib import Path

import pytest

from grader.errors import SandboxError
from grader.sandbox.holder import system_call_filter
from grader.sandbox.interface import Sandbox
from tests.sandbox.inside import report_from

ROOT = Path(__file__).resolve().parents[2]

CALL = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    words = [ctypes.c_long(each) for each in arguments]
    return [libc.syscall(ctypes.c_long(number), *words), ctypes.get_errno()]
"""

X86_64 = {
    "ptrace": 101,
    "syslog": 103,
    "personality": 135,
    "pivot_root": 155,
    "chroot": 161,
    "mount": 165,
    "reboot": 169,
    "add_key": 248,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "finit_module": 313,
    "bpf": 321,
    "userfaultfd": 323,
    "io_uring_setup": 425,
    "shmget": 29,
    "mq_open": 240,
}

only_x86_64 = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the numbers are those of x86_64"
)


@only_x86_64
def test_every_denied_call_is_refused(sandbox: Sandbox) -> None:
    """Calls that would fail for another reason must fail with EPERM: the filter is asked first."""
    code = CALL + f"report({{name: call(n, 0, 0, 0, 0) for name, n in {X86_64!r}.items()}})"
    answers = report_from(sandbox, code)
    assert answers == {name: [-1, errno.EPERM] for name in X86_64}


@only_x86_64
def test_memory_that_no_limit_counts_is_not_to_be_had(sandbox: Sandbox) -> None:
    assert report_from(sandbox, CALL + "report(call(319, 0, 0))") == [-1, errno.ENOSYS]


def test_memory_is_shared_by_files_alone(sandbox: Sandbox) -> None:
    """Of no file, it is in no number of a process that has taken it out of its tables."""
    code = """
import mmap, tempfile
with tempfile.TemporaryFile() as file:
    file.write(bytes(4096))
    file.flush()
    mmap.mmap(file.fileno(), 4096)[:1] = b"1"
    file.seek(0)
    found = [file.read(1).decode()]
mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for flags in (mmap.MAP_SHARED, mmap.MAP_SHARED | mmap.MAP_POPULATE):
    try:
        mmap.mmap(-1, 4096, flags=flags | mmap.MAP_ANONYMOUS)
        found.append("made")
    except PermissionError:
        found.append("refused")
report(found)
"""
    assert report_from(sandbox, code) == ["1", "refused", "refused"]


@only_x86_64
@pytest.mark.parametrize("flag", [0x00020000, 0x10000000, 0x20000000, 0x40000000])
def test_a_clone_into_a_new_namespace_is_refused(sandbox: Sandbox, flag: int) -> None:
    assert report_from(sandbox, CALL + f"report(call(56, {flag | 17}, 0))") == [-1, errno.EPERM]


@pytest.mark.parametrize("family", [16, 17, 38, 40])
def test_sockets_of_other_families_are_not_supported(sandbox: Sandbox, family: int) -> None:
    code = f"""
import socket
try:
    socket.socket({family}, socket.SOCK_RAW if {family} == 17 else socket.SOCK_STREAM)
    report("made")
except OSError as error:
    report(error.errno)
"""
    assert report_from(sandbox, code) == errno.EOPNOTSUPP


def test_limits_of_another_process_cannot_be_changed(sandbox: Sandbox) -> None:
    code = """
import resource
try:
    resource.prlimit(os.getppid() or 1, resource.RLIMIT_NOFILE, (10, 10))
    report("changed")
except PermissionError:
    report("refused")
"""
    assert report_from(sandbox, code) == "refused"


def test_threads_and_processes_still_work(sandbox: Sandbox) -> None:
    code = """
import multiprocessing, subprocess, threading
thread = threading.Thread(target=lambda: None)
thread.start()
thread.join()
with multiprocessing.get_context("fork").Pool(2) as pool:
    numbers = pool.map(abs, [-1, -2])
report([numbers, subprocess.run(["/bin/echo", "3"], capture_output=True, text=True).stdout])
"""
    assert report_from(sandbox, code) == [[1, 2], "3\n"]


def test_the_shipped_programs_are_what_the_tool_makes() -> None:
    path = ROOT / "tools" / "make_seccomp_filters.py"
    specification = importlib.util.spec_from_file_location("make_seccomp_filters", path)
    assert specification is not None
    assert specification.loader is not None
    tool = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(tool)
    for name, machine in tool.MACHINES.items():
        for strict in (False, True):
            made = tool.make_filter(machine, strict=strict)
            assert system_call_filter(name, strict=strict) == made


def test_another_kind_of_machine_is_refused_with_a_next_step() -> None:
    with pytest.raises(SandboxError, match="vax"):
        system_call_filter("vax")
