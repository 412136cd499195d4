"""What a sandboxed process sees of the file system, as options of bubblewrap.

Order matters: a later mount covers an earlier one. The interpreter may live below /tmp, so its
mounts come after the empty folder of that name; `/` is made read-only at the very end.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

import grader
from grader.errors import SandboxError

SCRATCH = PurePosixPath("/scratch")
"""The working folder and home of everything that runs in a sandbox."""

WRITABLE = (str(SCRATCH), "/tmp", "/dev/shm")  # noqa: S108
"""The folders that can be written to, each a file system of its own."""

TEMPORARY_BYTES = 256 * 2**20
SHARED_MEMORY_BYTES = 64 * 2**20

SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
SYSTEM_FILES = (
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/localtime",
)

ENVIRONMENT = {
    "PATH": f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TVM_BIND_THREADS": "0",  # TVM would pin its threads, and PyTorch's, to the first cores
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""What every sandboxed program finds in its environment, beside its home."""

Descriptor = Callable[[bytes], int]
"""Puts bytes where bubblewrap can read them and returns the descriptor's number."""


def mount_options(
    files: Mapping[str, bytes],
    scratch_bytes: int,
    user: int,
    covered: Iterable[Path],
    descriptor: Descriptor,
) -> list[str]:
    """Return the options for system, scratch folders, interpreter and files; all else is absent.

    `user` is the numeric user id inside, `covered` are folders of the system or the interpreter
    that look empty. Raises SandboxError when the name of a file leads out of the scratch folder.
    """
    interpreter = interpreter_folders()
    return [
        *_system_options(),
        *_account_options(user, descriptor),
        *("--proc", "/proc", "--dev", "/dev"),
        # Mapped, it would be memory that no number of a process shows; so bound, it is no device.
        *("--ro-bind", "/dev/null", "/dev/zero"),
        *_tmpfs("/dev/shm", SHARED_MEMORY_BYTES, "1777"),  # noqa: S108
        *_tmpfs("/tmp", TEMPORARY_BYTES, "1777"),  # noqa: S108
        *_tmpfs(str(SCRATCH), scratch_bytes, "0777"),
        *_interpreter_options(interpreter),
        *hiding_options(Path(grader.__file__).resolve().parent, interpreter),
        *(option for folder in covered for option in _cover(folder)),
        *_file_options(files, descriptor),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", str(SCRATCH)),
    ]


def interpreter_folders() -> tuple[Path, ...]:
    """Return the folders outside /usr that Python and its packages need, outermost first.

    A folder is listed as it is spelt and, where that differs, as it really is.
    """
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix}
    spelt = {Path(prefix) for prefix in prefixes}
    real = {path.resolve() for path in spelt} | {Path(sys.executable).resolve().parent.parent}
    kept: list[Path] = []
    for path in sorted(spelt | real, key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(outer) for outer in (Path("/usr"), *kept)):
            kept.append(path)
    return tuple(kept)


def _system_options() -> list[str]:
    options = _folder("/etc") + _folder("/run") + ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM_FOLDERS:
        path = Path("/") / name
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            options += ["--ro-bind", str(path), str(path)]
    for file in SYSTEM_FILES:
        options += ["--ro-bind-try", file, file]
    return options


def account_files(user: int) -> dict[str, str]:
    """Return the files that give a user id a name, for which libraries ask, and a host's."""
    return {
        "/etc/passwd": f"student:x:{user}:{user}::{SCRATCH}:/bin/sh\n",
        "/etc/group": f"student:x:{user}:\n",
        "/etc/hosts": "127.0.0.1 localhost sandbox\n",
    }


def _account_options(user: int, descriptor: Descriptor) -> list[str]:
    options: list[str] = []
    for path, text in account_files(user).items():
        options += ["--perms", "0444", "--ro-bind-data", str(descriptor(text.encode())), path]
    return options


def _interpreter_options(folders: Iterable[Path]) -> list[str]:
    options: list[str] = []
    for folder in folders:
        for parent in reversed(folder.parents[:-1]):  # made by bubblewrap they would be 0700
            options += _folder(str(parent))
        options += ["--ro-bind", str(folder), str(folder)]
    return options


def hiding_options(package: Path, folders: Iterable[Path]) -> list[str]:
    """Cover a package that is installed beside the libraries that the sandbox needs."""
    if not any(package.is_relative_to(folder) for folder in (Path("/usr"), *folders)):
        return []
    return _cover(package)


def _cover(folder: Path) -> list[str]:
    return [*_tmpfs(str(folder), os.sysconf("SC_PAGE_SIZE"), "0755"), "--remount-ro", str(folder)]


def _file_options(files: Mapping[str, bytes], descriptor: Descriptor) -> list[str]:
    options: list[str] = []
    made: set[PurePosixPath] = set()
    for name, content in files.items():
        target = SCRATCH / inner_path(name)
        for parent in reversed(target.parents[:-2]):
            if parent not in made:
                options += _folder(str(parent), "0777")
                made.add(parent)
        # They may be overwritten and deleted, whoever owns them.
        options += ["--perms", "0666", "--file", str(descriptor(content)), str(target)]
    return options


def inner_path(name: str) -> PurePosixPath:
    """Return a file's path relative to the working folder. Raises SandboxError if it leads out."""
    path = PurePosixPath(name)
    if ".." in path.parts or path.is_absolute() or not path.name:
        raise SandboxError(f"The file name {name!r} leads out of the sandbox's folder.")
    return path


def _folder(path: str, permissions: str = "0755") -> list[str]:
    return ["--perms", permissions, "--dir", path]


def _tmpfs(path: str, size: int, permissions: str) -> list[str]:
    return ["--size", str(size), "--perms", permissions, "--tmpfs", path]
