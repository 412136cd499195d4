"""What a sandboxed process sees of the file system, and folders that none may read.

The order of mounts matters: a later mount covers an earlier one. The interpreter may live below
/tmp, so its mounts come after the empty folder of that name; `/` is made read-only at the very end.

A box shows `/usr` and the folders of Python. A course, data, submissions or reports may lie below
one of them: somewhere in `/usr/local/share`, say, or beside the libraries, where the grader's own
assignments are when it is installed. There they are covered, or nothing is graded.
"""

import os
import site
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

import grader
from grader.errors import SandboxError
from grader.language import say

SCRATCH = PurePosixPath("/scratch")
"""The working folder and home of everything that runs in a sandbox."""

WRITABLE = (str(SCRATCH), "/tmp", "/dev/shm")  # noqa: S108
"""The folders that can be written to, each its own file system."""

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
        raise SandboxError(say("file-name-points-outside-sandboxs-folder", name=repr(name)))
    return path


def _folder(path: str, permissions: str = "0755") -> list[str]:
    return ["--perms", permissions, "--dir", path]


def _tmpfs(path: str, size: int, permissions: str) -> list[str]:
    return ["--size", str(size), "--perms", permissions, "--tmpfs", path]


def covers(protected: Iterable[Path]) -> tuple[Path, ...]:
    """Return the folders that a box must cover, as they are spelt there, outermost first.

    Of a file that is its folder; what does not exist needs no cover. Raises SandboxError when
    Python itself would be covered.
    """
    found: set[Path] = set()
    for folder in _folders(protected):
        inside = {_place(folder, shown) for shown in shown_folders()} - {None}
        if inside and any(needed.is_relative_to(folder) for needed in _python_folders()):
            raise SandboxError(
                say("folder-cannot-hidden-from-submissions-contains-python", folder=str(folder)),
                say("keep-courses-data-submissions-and-reports-apart"),
            )
        found |= {place for place in inside if place is not None}
    return tuple(
        sorted(path for path in found if not any(other in path.parents for other in found))
    )


def shown_folders() -> tuple[Path, ...]:
    """Return all folders of the host that a box shows, once each: some are links in it too."""
    system = [Path("/") / name for name in ("usr", *SYSTEM_FOLDERS)]
    paths = [path for path in (*system, *map(Path, SYSTEM_FILES)) if not path.is_symlink()]
    return tuple(path for path in (*paths, *interpreter_folders()) if path.is_dir())


def is_for_packages(folder: Path) -> bool:
    """Say whether a folder is one in which Python looks for packages that were installed."""
    return folder.resolve() in {Path(path).resolve() for path in site.getsitepackages()}


def readable_beside(covered: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """Return what of the shown folders may be read, and what only listed, where nothing can cover.

    A folder on the way to a covered one is taken apart into what else is in it. Only where Python
    looks for packages it may be listed all the same: names below it can be seen then.
    """
    roots = {folder.resolve() for folder in shown_folders()}
    outermost = sorted(root for root in roots if not any(each in root.parents for each in roots))
    closed = {path.resolve() for path in covered}
    readable = [path for root in outermost for path in _without(root, closed)]
    readable += [path for path in map(Path, SYSTEM_FILES) if path.is_file()]
    on_the_way = {parent for path in closed for parent in path.parents}
    python = _python_folders()
    listed = [
        path for path in sorted(on_the_way) if any(path.is_relative_to(each) for each in python)
    ]
    return tuple(readable), tuple(listed)


def _without(folder: Path, closed: set[Path]) -> Iterator[Path]:
    """Yield a folder, or what is in it beside what is closed, without following links."""
    if folder in closed:
        return
    if not any(folder in each.parents for each in closed):
        yield folder
        return
    for entry in sorted(folder.iterdir()):
        if not entry.is_symlink():  # a rule for a link would be one for what it leads to
            yield from _without(entry, closed)


def _folders(paths: Iterable[Path]) -> set[Path]:
    real = {path.resolve() for path in paths if path.exists()}
    return {path if path.is_dir() else path.parent for path in real}


def _place(folder: Path, shown: Path) -> Path | None:
    """Return where a folder is seen below one that is shown, which may be spelt with links."""
    real = shown.resolve()
    return shown / folder.relative_to(real) if folder.is_relative_to(real) else None


def _python_folders() -> set[Path]:
    paths = sysconfig.get_paths()
    names = [*(paths[key] for key in ("stdlib", "platstdlib", "purelib", "platlib", "scripts"))]
    names += [*site.getsitepackages(), sys.prefix, sys.base_prefix]
    return {Path(name).resolve() for name in names}
