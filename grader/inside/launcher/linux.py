"""System calls that Python 3.10 has no function for, Landlock's rules among them.

Numbers and structures are from the kernel's headers (linux/prctl.h, capability.h, landlock.h,
seccomp.h). All raise OSError.

Of Landlock, what a kernel does not know of is left out: version 1 knows files, 4 TCP, 6 signals and
abstract sockets (linux/landlock.h). The seccomp filter of the same sandbox denies sockets
altogether.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import platform
import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

ALL_CHILDREN = 0x40000000
"""__WALL of waitpid(2): those, too, whose end another signal than SIGCHLD tells, or none."""

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_NAME = 15
_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_PR_CAP_AMBIENT = 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522
_INSTRUCTION_BYTES = 8

# The same on every machine whose system calls were numbered after 2011.
_SYS_LANDLOCK_CREATE_RULESET = 444
_SYS_LANDLOCK_ADD_RULE = 445
_SYS_LANDLOCK_RESTRICT_SELF = 446

_SYS_KEYCTL = {"x86_64": 250, "aarch64": 219}
_KEYCTL_JOIN_SESSION_KEYRING = 1
_NO_KEYRINGS = (errno.ENOSYS, errno.EPERM, errno.EACCES)

_NS_GET_USERNS = 0xB701
_REMOUNT_TERMINALS = 0x2 | 0x8 | 0x20
"""MS_NOSUID, MS_NOEXEC, MS_REMOUNT of mount(2)."""

TRIM_THRESHOLD = -1
MMAP_THRESHOLD = -3
MMAP_MAX = -4
ARENA_MAX = -8
NEVER = 2**31 - 1
"""Names of mallopt(3), from malloc.h of the GNU C library, and the largest value that it takes."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.prctl.argtypes = [ctypes.c_int] + [ctypes.c_ulong] * 4
_libc.setns.argtypes = [ctypes.c_int, ctypes.c_int]
_libc.capset.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
_libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
_libc.syscall.restype = ctypes.c_long


_LARGE = 2**20
"""Bytes of an array that is worth its own place."""


def give_memory_back() -> None:
    """Have the C library give large arrays back to the system as soon as they are freed.

    By default it does so up to the size of the largest that was freed, 32 MB at most, and for every
    thread apart: what lay between them stayed, some 100 MB for each submission of a batch.
    """
    settings = {MMAP_THRESHOLD: _LARGE, TRIM_THRESHOLD: _LARGE, ARENA_MAX: 2}
    set_allocator(settings)


def set_allocator(settings: Mapping[int, int]) -> None:
    """Set how the GNU C library allocates memory; other C libraries do as they do."""
    set_option = getattr(_libc, "mallopt", None)
    if set_option is not None:
        for name, value in settings.items():
            set_option(name, value)


def enter_namespaces(descriptor: int, kinds: int) -> None:
    """Join namespaces (`CLONE_NEW...` or-ed) of the process of a pidfd; needs Linux 5.8."""
    _check(_libc.setns(descriptor, kinds), "setns")


def owner_of_namespace(path: str, folder: int) -> int | None:
    """Return a descriptor of the user namespace that owns a namespace, None where it is this one.

    `path` is the namespace's file in /proc, as seen from `folder`.
    """
    namespace = os.open(path, os.O_RDONLY, dir_fd=folder)
    try:
        owner = fcntl.ioctl(namespace, _NS_GET_USERNS)
    finally:
        os.close(namespace)
    own = os.stat("self/ns/user", dir_fd=folder)
    if os.path.samestat(os.fstat(owner), own):
        os.close(owner)
        return None
    return owner


def limit_terminals(folder: str, most: int) -> None:
    """Let the file system of terminals at a folder make no more than `most` of them.

    Each is one of the machine's (`kernel.pty.max`), whoever's file system it is in.
    """
    options = f"ptmxmode=0666,mode=0620,max={most}".encode()
    place = folder.encode()
    _check(_libc.mount(b"devpts", place, b"devpts", _REMOUNT_TERMINALS, options), "mount")


def process_of(descriptor: int) -> int:
    """Return the number of the process that a pidfd refers to, as /proc of this process has it."""
    lines = Path(f"/proc/self/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines()
    return int(dict(line.split(":", 1) for line in lines)["Pid"])


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent has ended."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(signal: int, parent: int | None = None) -> None:
    """Have the kernel send `signal` to this process when its parent thread ends.

    A parent that was killed between its fork and this call is never told of: where its process id
    is given, this process gets the signal at once.
    """
    _prctl(_PR_SET_PDEATHSIG, signal)
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal)


def name_process(name: str) -> None:
    """Give this process a name of up to 15 letters, by which `ps` and `top` show it."""
    letters = ctypes.create_string_buffer(name.encode())
    _prctl(_PR_SET_NAME, ctypes.addressof(letters))


def allow_own_proc() -> None:
    """Give this process its own files in /proc, which a change of user takes away."""
    _prctl(_PR_SET_DUMPABLE, 1)


def close_own_proc() -> None:
    """Keep other processes of this user out of this one's memory, descriptors and environment.

    An exec opens them again. Whoever may trace any process at all is not kept out.
    """
    _prctl(_PR_SET_DUMPABLE, 0)


def begin_session_keyring() -> None:
    """Give this thread, and what it starts, a session keyring that is empty and nobody else's.

    Otherwise all that root starts would share root's: keys left there outlive a submission.
    """
    number = _SYS_KEYCTL.get(platform.machine())
    if number is None:
        return  # a machine without a filter: nothing of others is graded there
    result = _libc.syscall(
        ctypes.c_long(number), ctypes.c_long(_KEYCTL_JOIN_SESSION_KEYRING), ctypes.c_long(0)
    )
    # A kernel without keyrings, or a container in which nobody may use them, has none to share.
    if result < 0 and ctypes.get_errno() not in _NO_KEYRINGS:
        _check(result, "keyctl")


def gain_nothing_by_exec() -> None:
    """Set no_new_privs: setuid programs give no powers any more."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def drop_bounding_capabilities() -> None:
    """Empty the bounding and ambient sets: no later exec can bring a capability back."""
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(_last_capability() + 1):
        _prctl(_PR_CAPBSET_DROP, capability)


def drop_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets."""
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    _check(_libc.capset(header, bytes(24)), "capset")


def install_filter(program: bytes) -> None:
    """Install a seccomp filter: an array of BPF instructions."""
    buffer = ctypes.create_string_buffer(program, len(program))
    count = len(program) // _INSTRUCTION_BYTES
    head = struct.pack("@HP", count, ctypes.addressof(buffer))
    head_buffer = ctypes.create_string_buffer(head, len(head))
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(head_buffer))


def landlock_version() -> int:
    """Return the version of Landlock that this kernel has, 0 for none."""
    version = _libc.syscall(
        ctypes.c_long(_SYS_LANDLOCK_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(1)
    )
    return max(int(version), 0)


def landlock_ruleset(files: int, network: int, scopes: int, version: int) -> int:
    """Return a descriptor of a ruleset that handles these kinds of access."""
    fields = (files, network, scopes)[: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    return _check(
        _libc.syscall(
            ctypes.c_long(_SYS_LANDLOCK_CREATE_RULESET),
            attributes,
            ctypes.c_size_t(len(attributes)),
            ctypes.c_uint(0),
        ),
        "landlock_create_ruleset",
    )


def landlock_allow(ruleset: int, path: int, access: int) -> None:
    """Allow kinds of access to and below the file of a descriptor."""
    rule = struct.pack("=Qi", access, path)
    result = _libc.syscall(
        ctypes.c_long(_SYS_LANDLOCK_ADD_RULE),
        ctypes.c_int(ruleset),
        ctypes.c_int(1),
        rule,
        ctypes.c_uint(0),
    )
    _check(result, "landlock_add_rule")


def landlock_restrict(ruleset: int) -> None:
    """Apply a ruleset to this process and all that it starts; needs no_new_privs."""
    result = _libc.syscall(
        ctypes.c_long(_SYS_LANDLOCK_RESTRICT_SELF), ctypes.c_int(ruleset), ctypes.c_uint(0)
    )
    _check(result, "landlock_restrict_self")


def _last_capability() -> int:
    with open("/proc/sys/kernel/cap_last_cap", encoding="ascii") as file:  # noqa: PTH123
        return int(file.read())


def _prctl(option: int, *arguments: int) -> None:
    words = (*arguments, 0, 0, 0, 0)[:4]
    _check(_libc.prctl(option, *words), f"prctl {option}")


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return int(result)


_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
_TCP = 0b11
_SCOPES = 0b11
_FILE_ACCESS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE

READ = _EXECUTE | _READ_FILE | _READ_DIR

READABLE_FILES = (
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/filesystems",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/vm/overcommit_memory",
    "/sys/devices/system/cpu",
    "/sys/devices/system/node",
    "/dev/urandom",
    "/dev/zero",
    "/etc/debian_version",
    "/etc/os-release",
    "/etc/wgetrc",
)
"""What libraries read about the machine. Nothing in there tells of another process."""

WRITABLE_DEVICES = ("/dev/null", "/dev/full")
"""Not /dev/zero: mapped by who may write it, it is memory that is in no process's numbers."""


def confine(readable: Iterable[str], listed: Iterable[str], writable: Iterable[str]) -> None:
    """Leave this process nothing but these files and folders, its own /proc entry, and no network.

    What is below the folders `listed` can be listed, and not read.
    Raises OSError where the kernel has no Landlock. Paths that do not exist are passed over.
    """
    with _ruleset() as (ruleset, handled):
        for path in (*readable, *READABLE_FILES, f"/proc/{os.getpid()}"):
            _allow(ruleset, path, READ & handled)
        for path in listed:
            _allow(ruleset, path, _READ_DIR)
        for path in (*writable, *WRITABLE_DEVICES):
            _allow(ruleset, path, handled)
        landlock_restrict(ruleset)


def close_files() -> None:
    """Leave this process the files that it has open, no other one, and no network.

    Processes that were not made by it are closed to it, too, as after `confine`. Raises OSError
    where the kernel has no Landlock.
    """
    with _ruleset() as (ruleset, _):
        landlock_restrict(ruleset)


@contextlib.contextmanager
def _ruleset() -> Iterator[tuple[int, int]]:
    """Open a ruleset that denies all there is; enters its descriptor and the kinds of access."""
    version = landlock_version()
    handled = _ALL_OF_VERSION[max(known for known in _ALL_OF_VERSION if known <= max(version, 1))]
    ruleset = landlock_ruleset(handled, _TCP, _SCOPES, version)
    try:
        yield ruleset, handled
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        try:
            if not os.path.isdir(path):  # noqa: PTH112 - folders only have the other rights
                access &= _FILE_ACCESS
            landlock_allow(ruleset, descriptor, access)
        finally:
            os.close(descriptor)


# Instructions that a processor's name promises and that the system does not let programs use.


_CHECKED_FEATURES = (
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
)
"""Features that a virtual machine may hide although its processor's name promises them: an EPYC
that is a znver4 to LLVM, with AVX-512 turned off. LLVM and the kernel spell them alike."""


def hidden_features(promised: Iterable[object], cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """Return the features that the processor's name promises and the system does not show.

    `promised` are those of LLVM's target for that name, by LLVM's spelling. What is compiled for
    one that is hidden ends its process by SIGILL. Raises OSError where `cpuinfo` cannot be read.
    """
    lines = cpuinfo.read_text().splitlines()
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), None)
    if flags is None:
        return []
    names = {str(feature) for feature in promised}
    return [each for each in _CHECKED_FEATURES if each in names and each not in flags]
