"""What belongs to the whole machine, or to the whole of a user, is not used up from a box.

One table: each row takes as much of one such resource as it is given, from within the box, and says
how much it got. docs/security.md lists them, with what is left open.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from grader.sandbox.interface import Level, ResourceLimits
from grader.sandbox.start import SteppingSandbox
from tests.conftest import require
from tests.sandbox.inside import report_from

SOME = 5000
"""What a row tries to get: more than any bound here, less than would hurt the machine."""

HELPERS = """
import ctypes, fcntl, os, platform, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.mmap.restype = ctypes.c_void_p
NUMBERS = {  # of x86_64 and aarch64
    "io_setup": (206, 0), "io_uring_setup": (425, 425), "fanotify_init": (300, 262),
    "inotify_init1": (294, 26), "add_key": (248, 217), "unshare": (272, 97), "clone3": (435, 435),
    "mq_open": (240, 180), "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186),
    "perf_event_open": (298, 241), "bpf": (321, 280), "userfaultfd": (323, 282),
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "seccomp": (317, 277),
    "timer_create": (222, 107), "sync": (162, 81), "syncfs": (306, 267),
}
def call(name, *arguments):
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    number = NUMBERS[name][platform.machine() == "aarch64"]
    return libc.syscall(ctypes.c_long(number), *words)
def taken(take):
    # How often `take` succeeds; the first refusal is the end.
    kept = []
    try:
        while len(kept) < SOME:
            got = take()
            if isinstance(got, int) and got < 0:
                break
            kept.append(got)
    except (OSError, ValueError):
        pass
    return len(kept)
PROGRAM = struct.pack("@HHI", 6, 0, 0x7FFF0000)  # a BPF program of one instruction: let all pass
kept_program = ctypes.create_string_buffer(PROGRAM)
HEAD = struct.pack("@HP", 1, ctypes.addressof(kept_program))
head = ctypes.create_string_buffer(HEAD)
stream, _ = socket.socketpair()
"""


@dataclass(frozen=True)
class MachineLimit:
    """One resource: how a piece of it is taken, and how many pieces a box may have.

    Levels below the `weakest` leave it open.
    """

    name: str
    take: str
    most: int = 0
    weakest: Level = "minimal"


# Nothing of the page is touched: without a reservation a host gives it that has none to give.
HUGE_PAGE = """\
-1 if libc.mmap(None, ctypes.c_size_t(2**21), 3, 0x44022, -1, ctypes.c_long(0)) == 2**64 - 1 else 1\
"""
LOCKED_MEGABYTE = """\
libc.mlock(
    ctypes.c_void_p(libc.mmap(None, ctypes.c_size_t(2**20), 3, 0x22, -1, ctypes.c_long(0))),
    ctypes.c_size_t(2**20),
)
"""
COUNTERS = "ctypes.create_string_buffer(struct.pack('II', 1, 64) + bytes(112)), 0, -1, -1, 0"
MAP = "ctypes.create_string_buffer(struct.pack('IIII', 2, 4, 8, 1) + bytes(56)), 72"

LIMITS = (
    MachineLimit("fs.aio-max-nr", "call('io_setup', 1, ctypes.byref(ctypes.c_ulong()))"),
    MachineLimit("io_uring", "call('io_uring_setup', 1, ctypes.create_string_buffer(120))"),
    MachineLimit("fs.inotify.max_user_instances", "call('inotify_init1', 0)"),
    MachineLimit("fs.fanotify.max_user_groups", "call('fanotify_init', 0x200, 0)"),
    MachineLimit("kernel.keys.maxkeys", "call('add_key', b'user', b'a', b'x', 1, -3)"),
    MachineLimit("user.max_user_namespaces", "call('unshare', 0x10000000)"),
    MachineLimit("fs.mqueue.queues_max", "call('mq_open', b'limit', 0o102, 0o600, None)"),
    MachineLimit("kernel.shmmni", "call('shmget', 0, 4096, 0o600)"),
    MachineLimit("kernel.sem", "call('semget', 0, 1, 0o600)"),
    MachineLimit("kernel.msgmni", "call('msgget', 0, 0o600)"),
    MachineLimit("kernel.perf_event_mlock_kb", f"call('perf_event_open', {COUNTERS})"),
    MachineLimit("bpf: maps", f"call('bpf', 0, {MAP})"),
    MachineLimit("net.core.bpf_jit_limit: sockets", "stream.setsockopt(1, 26, HEAD) or 1"),
    MachineLimit("net.core.bpf_jit_limit: seccomp", "call('seccomp', 1, 0, head)"),
    MachineLimit("net.core.bpf_jit_limit: prctl", "libc.prctl(22, 2, head)"),
    MachineLimit("userfaultfd", "call('userfaultfd', 1)"),
    MachineLimit("memfd", "call('memfd_create', b'limit', 0)"),
    MachineLimit("memfd_secret", "call('memfd_secret', 0)"),
    MachineLimit("vm.nr_hugepages", HUGE_PAGE),
    MachineLimit("writing back", "call('sync')"),
    MachineLimit("writing back what is below /usr", "call('syncfs', os.open('/usr', os.O_RDONLY))"),
    MachineLimit("core scheduling", "libc.prctl(62, 1, 0, 0, 0)"),
    MachineLimit("leases", "fcntl.fcntl(os.open('leased', 0o100), 1024, fcntl.F_RDLCK)"),
    MachineLimit("dnotify", "fcntl.fcntl(os.open('.', os.O_RDONLY), 1026, 2)"),
    MachineLimit("netlink", "socket.socket(16, socket.SOCK_RAW)"),
    MachineLimit("AF_ALG", "socket.socket(38, socket.SOCK_SEQPACKET)"),
    MachineLimit("RLIMIT_RTPRIO", "os.sched_setscheduler(0, 1, os.sched_param(1)) or 1"),
    MachineLimit(
        "RLIMIT_SIGPENDING", "call('timer_create', 1, None, ctypes.byref(ctypes.c_int()))", 1024
    ),
    MachineLimit("RLIMIT_MEMLOCK", LOCKED_MEGABYTE, 8),
    MachineLimit("kernel.pty.max", "os.openpty()", 64, "basic"),
    MachineLimit("fs.file-max: one process", "os.open('/dev/null', os.O_RDONLY)", 1024),
    # A user's box below "container" is watched for it: test_levels.py.
    MachineLimit("kernel.pid_max", "os.fork() or signal.pause()", 256, "container"),
)


@pytest.mark.parametrize("limit", [pytest.param(each, id=each.name) for each in LIMITS])
def test_a_box_gets_no_more_of_it(sandbox: SteppingSandbox, limit: MachineLimit) -> None:
    require(sandbox, limit.weakest)
    code = f"SOME = {SOME}{HELPERS}report(taken(lambda: {limit.take}))"
    got = report_from(sandbox, code, limits=ResourceLimits(watch=0))
    assert got <= limit.most
