"""Write the system call filters of the sandbox: `grader/sandbox/filters/<machine>[-strict].bpf`.

The programs are small and the same for every kernel, so they are made once with libseccomp (through
pyseccomp, a development dependency) and shipped. A test makes them anew and compares.

    python tools/make_seccomp_filters.py
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyseccomp as seccomp

FOLDER = Path(__file__).resolve().parent.parent / "grader" / "sandbox" / "filters"
MACHINES = {"x86_64": seccomp.Arch.X86_64, "aarch64": seccomp.Arch.AARCH64}

DENIED = {
    "mounts": "mount umount umount2 mount_setattr move_mount open_tree fsopen fsconfig fsmount"
    " fspick pivot_root chroot",
    "namespaces": "unshare setns",
    "other processes": "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp"
    " migrate_pages move_pages",
    "the kernel": "bpf perf_event_open userfaultfd init_module finit_module delete_module"
    " kexec_load kexec_file_load syslog reboot acct swapon swapoff quotactl quotactl_fd"
    " personality vhangup lookup_dcookie uselib iopl ioperm",
    "asynchronous input and output": "io_uring_setup io_uring_enter io_uring_register",
    "keys": "add_key request_key keyctl",
    "files by handle": "open_by_handle_at name_to_handle_at fanotify_init fanotify_mark",
    "clock and name": "clock_settime clock_adjtime settimeofday adjtimex sethostname setdomainname",
    "shared memory that outlives": "shmget shmat shmctl shmdt semget semop semtimedop semctl msgget"
    " msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
    "memory that no limit counts": "memfd_secret",
    "the sandbox's own means": "landlock_create_ruleset landlock_add_rule landlock_restrict_self",
}

MISSING = (
    *("memfd_create", "clone3", "io_setup", "inotify_init", "inotify_init1", "seccomp"),
    *("sync", "syncfs"),
)
"""Answered as a kernel would that lacks them: libraries then go another way. Pages of a memfd are
counted by no limit of a process, and clone3 hides its flags from a filter.

The others use up limits that all programs of a machine or a user share: `fs.aio-max-nr`, the 128
inotify instances of a user, and `net.core.bpf_jit_limit`, memory for compiled filters. `sync` has
the disks write whatever any program of the machine has written, and so has `syncfs` below /usr."""

NAMESPACE_FLAGS = (
    0x00000080,  # CLONE_NEWTIME
    0x00020000,  # CLONE_NEWNS
    0x02000000,  # CLONE_NEWCGROUP
    0x04000000,  # CLONE_NEWUTS
    0x08000000,  # CLONE_NEWIPC
    0x10000000,  # CLONE_NEWUSER
    0x20000000,  # CLONE_NEWPID
    0x40000000,  # CLONE_NEWNET
)
NAMELESS_SHARED = (0x2F, 0x21)
"""Of mmap's flags those of its type and MAP_ANONYMOUS, and how memory is asked for that processes
share and that no file stands for: MAP_SHARED | MAP_ANONYMOUS. Whoever takes it out of his tables
again (madvise, munmap) keeps what stands in it, and it is in no number of any process."""
HUGE_PAGES = 0x40000
"""MAP_HUGETLB: pages that the host has set aside; no number of a process's memory counts them."""

SET_FILTER = 22
"""PR_SET_SECCOMP, another way to the call `seccomp`."""

CORE_SCHEDULING = 62
"""PR_SCHED_CORE: whoever takes a cookie keeps all others off the other thread of his core."""

SOCKET_LEVEL, SOCKET_PROGRAMS = 1, (26, 50, 51, 52)
"""SOL_SOCKET, and SO_ATTACH_FILTER, SO_ATTACH_BPF and both for groups of sockets. The kernel
compiles each program into memory with one limit for the machine (`net.core.bpf_jit_limit`), charged
to nobody. Once that is full, no program of a user can install a seccomp filter."""

FILE_REQUESTS = (1024, 1026)
"""F_SETLEASE: whoever opens the file then waits for 45 seconds, and its owner may be the grader's
user. F_NOTIFY: signals for what others do in a folder."""
LOWER_HALF = 0xFFFFFFFF
"""What the kernel looks at of an argument that is an int."""

TERMINAL_REQUESTS = (0x5412, 0x541C)  # TIOCSTI types into a terminal, TIOCLINUX pastes
ALLOWED_FAMILIES = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6
HIGHEST_FAMILY = 10
SOCKET_KIND_MASK = 0xF
INTERNET_FAMILIES = (2, 10)
INTERNET_PROTOCOLS = (0, 6, 17)  # the kind's own, TCP, UDP
"""What the watch can count. Of multipath TCP, say, it sees the parts and not what they hold."""
DATAGRAM_KINDS = (2, 3)  # SOCK_DGRAM, SOCK_RAW


def make_filter(machine: int, *, strict: bool) -> bytes:
    """Return the program for one machine. What is not named is allowed.

    A strict one is for sandboxes without a network of their own.
    """
    program = seccomp.SyscallFilter(seccomp.ALLOW)
    if machine != seccomp.system_arch():
        program.add_arch(machine)
        program.remove_arch(seccomp.system_arch())
    for names in DENIED.values():
        for name in names.split():
            program.add_rule(seccomp.ERRNO(errno.EPERM), name)
    for name in MISSING:
        program.add_rule(seccomp.ERRNO(errno.ENOSYS), name)
    _add_argument_rules(program)
    if strict:
        _deny_sockets(program)
    else:
        _deny_odd_sockets(program)
    return _export(program)


def _add_argument_rules(program: seccomp.SyscallFilter) -> None:
    """Deny by argument: namespaces by clone, others' limits, typing into terminals, programs."""
    denied = seccomp.ERRNO(errno.EPERM)
    program.add_rule(denied, "mmap", seccomp.Arg(3, seccomp.MASKED_EQ, *NAMELESS_SHARED))
    program.add_rule(denied, "mmap", seccomp.Arg(3, seccomp.MASKED_EQ, HUGE_PAGES, HUGE_PAGES))
    unknown = seccomp.ERRNO(errno.EINVAL)  # as of a kernel that has no filters
    for option in (SET_FILTER, CORE_SCHEDULING):
        which = seccomp.Arg(0, seccomp.MASKED_EQ, LOWER_HALF, option)
        program.add_rule(unknown, "prctl", which)
    level = seccomp.Arg(1, seccomp.MASKED_EQ, LOWER_HALF, SOCKET_LEVEL)
    for option in SOCKET_PROGRAMS:
        which = seccomp.Arg(2, seccomp.MASKED_EQ, LOWER_HALF, option)
        program.add_rule(denied, "setsockopt", level, which)
    for flag in NAMESPACE_FLAGS:
        program.add_rule(denied, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
    program.add_rule(denied, "prlimit64", seccomp.Arg(0, seccomp.NE, 0))
    for request in FILE_REQUESTS:
        program.add_rule(denied, "fcntl", seccomp.Arg(1, seccomp.MASKED_EQ, LOWER_HALF, request))
    for request in TERMINAL_REQUESTS:
        program.add_rule(denied, "ioctl", seccomp.Arg(1, seccomp.MASKED_EQ, LOWER_HALF, request))


def _deny_odd_sockets(program: seccomp.SyscallFilter) -> None:
    """Leave the families that a private network gives a meaning to."""
    # libzmq ends the process when netlink fails with any other error than this one.
    unsupported = seccomp.ERRNO(errno.EOPNOTSUPP)
    for family in range(HIGHEST_FAMILY):
        if family not in ALLOWED_FAMILIES:
            program.add_rule(unsupported, "socket", seccomp.Arg(0, seccomp.EQ, family))
    program.add_rule(unsupported, "socket", seccomp.Arg(0, seccomp.GT, HIGHEST_FAMILY))
    for family in INTERNET_FAMILIES:
        own = seccomp.Arg(0, seccomp.EQ, family)
        for protocol in range(max(INTERNET_PROTOCOLS)):
            if protocol not in INTERNET_PROTOCOLS:
                program.add_rule(unsupported, "socket", own, seccomp.Arg(2, seccomp.EQ, protocol))
        other = seccomp.Arg(2, seccomp.GT, max(INTERNET_PROTOCOLS))
        program.add_rule(unsupported, "socket", own, other)


def _deny_sockets(program: seccomp.SyscallFilter) -> None:
    """Leave connected pairs only. A datagram pair could still send to any address by name."""
    denied = seccomp.ERRNO(errno.EACCES)
    for name in ("socket", "bind", "connect"):
        program.add_rule(denied, name)
    for kind in DATAGRAM_KINDS:
        rule = seccomp.Arg(1, seccomp.MASKED_EQ, SOCKET_KIND_MASK, kind)
        program.add_rule(denied, "socketpair", rule)


def _export(program: seccomp.SyscallFilter) -> bytes:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as result:
        with os.fdopen(writer, "wb") as file:
            program.export_bpf(file)
        return result.read()


def main() -> None:
    """Write one file for each machine."""
    FOLDER.mkdir(exist_ok=True)
    for name, machine in MACHINES.items():
        for suffix, strict in (("", False), ("-strict", True)):
            content = make_filter(machine, strict=strict)
            (FOLDER / f"{name}{suffix}.bpf").write_bytes(content)
            print(f"{name}{suffix}: {len(content) // 8} instructions")


if __name__ == "__main__":
    main()
