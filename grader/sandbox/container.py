"""Boxes that are containers: made by runc or crun, the runtimes below docker and podman.

For machines on which bubblewrap is not there, or may not make namespaces and a container runtime
may. There is no image and no daemon: the runtime is given a folder of empty mount points and a
description, and starts the holder (sandbox/holder.py) in the foreground. Programs step into its
namespaces as into bubblewrap's. A user's containers have a user namespace in which the user is
number 0, without capabilities; root's have none, and every program its own user id.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import grader
from grader.errors import SandboxError
from grader.files import temporary_folder
from grader.language import say
from grader.sandbox.folder import fill
from grader.sandbox.hints import hint_for, install_runtime, obstacle_in, words_of
from grader.sandbox.holder import (
    HOLDER,
    HOLDER_PERMISSIONS,
    HeldBox,
    await_holder,
    find_cat,
    hold,
    spawn,
)
from grader.sandbox.interface import Command, Level
from grader.sandbox.layout import (
    SCRATCH,
    SHARED_MEMORY_BYTES,
    SYSTEM_FILES,
    SYSTEM_FOLDERS,
    TEMPORARY_BYTES,
    account_files,
    covers,
    interpreter_folders,
)
from grader.sandbox.process import student_id

_RUNTIMES = ("runc", "crun")
_START_SECONDS = 30.0
_PAUSE_SECONDS = 0.002

_RUN_AND_REMOVE = '"$@"; status=$?; rm -rf -- "$0"; exit "$status"'

_DENIED_TO_HOLDER = (
    "add_key bpf clone3 connect finit_module init_module io_uring_setup keyctl kexec_load"
    " memfd_create mount open_by_handle_at perf_event_open pidfd_getfd process_vm_readv"
    " process_vm_writev ptrace request_key socket umount2 unshare userfaultfd"
)
"""What a runtime has no more use for once it has loaded the filter; the holder uses none of it."""

_TERMINALS = ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "max=64"]

_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_MASKED = (
    "/proc/kcore",
    "/proc/keys",
    "/proc/timer_list",
    "/proc/sched_debug",
    "/proc/scsi",
    "/dev/zero",  # mapped, it is memory that no number of a process shows
)

_OWN_USER = say("container-by-no-network-read-only-system")
_OWN_NAMESPACE = say("container-by-no-network-read-only-system-user")


def find_container(
    find: Callable[[str], str | None], *, as_root: bool, protected: Iterable[Path] = ()
) -> ContainerBoxes:
    """Return what makes boxes with the first runtime that `find` finds. Raises SandboxError.

    None of the files and folders `protected` can be seen in them.
    """
    found = next(filter(None, map(find, _RUNTIMES)), None)
    if found is None:
        raise SandboxError(say("there-no-container-runtime-neither-runc-nor"), install_runtime())
    return ContainerBoxes(found, find_cat(find), as_root=as_root, covered=covers(protected))


class ContainerBoxes:
    """Makes boxes in the way that suits the user that the grader runs as.

    `runtime` is the path of runc or crun, `holder` the program that holds a box, `covered` are
    folders that look empty inside.
    """

    level: Level = "container"

    def __init__(
        self, runtime: str, holder: bytes, *, as_root: bool, covered: tuple[Path, ...] = ()
    ) -> None:
        self._runtime = runtime
        self._holder = holder
        self._as_root = as_root
        self._covered = covered
        text = _OWN_USER if as_root else _OWN_NAMESPACE
        self.detail = say(text, version=Path(runtime).name)

    def make(self, command: Command) -> ContainerBox:
        """Make a box that holds a command's files; may be called from any thread.

        It ends when the grader is killed, and so does all that has stepped into it. Raises
        SandboxError when the machine refuses.
        """
        user = student_id() if self._as_root else 0
        bundle = Path(tempfile.mkdtemp(prefix="grader-container-", dir=temporary_folder()))
        try:
            self._write_bundle(bundle, user, command.limits.scratch)
            popen = spawn(runtime_line(self._runtime, bundle), ())
            pidfd = self._adopt(popen, bundle, command.files)
        except BaseException:
            _remove(bundle)
            raise
        return ContainerBox(popen, pidfd, user if self._as_root else -1, bundle)

    def _write_bundle(self, bundle: Path, user: int, scratch_bytes: int) -> None:
        write_root(bundle / "rootfs", self._holder, user)
        holder = student_id() if self._as_root else 0
        mounts = list_mounts(scratch_bytes, self._covered)
        text = json.dumps(describe(holder, mounts, as_root=self._as_root))
        (bundle / "config.json").write_text(text, encoding="utf-8")

    def _adopt(self, popen: subprocess.Popen[bytes], bundle: Path, files: dict[str, bytes]) -> int:
        """Wait until the holder answers and return its pidfd; nobody else is inside by then."""
        deadline = time.monotonic() + _START_SECONDS
        try:
            await_holder(popen, deadline)
            number = _read_number(bundle / "pid", deadline)
            pidfd = os.pidfd_open(number)
            fill(Path(f"/proc/{number}/root{SCRATCH}"), files, for_all=True)
        except (ValueError, OSError) as error:
            popen.kill()
            _, message = popen.communicate()
            text = message.decode(errors="replace").strip() or str(error)
            raise SandboxError(
                say("cannot-make-container", name=Path(self._runtime).name, text=words_of(text)),
                hint_for(obstacle_in(text)),
            ) from None
        return pidfd


class ContainerBox(HeldBox):
    """A box with its own folder, in which its runtime keeps what it knows of it."""

    def __init__(self, popen: subprocess.Popen[bytes], pidfd: int, user: int, bundle: Path) -> None:
        super().__init__(popen, pidfd, user)
        self._bundle = bundle

    def end(self) -> None:
        """End everything inside, wait until it is gone, and remove the folder."""
        super().end()
        _remove(self._bundle)


def _remove(bundle: Path) -> None:
    with contextlib.suppress(FileNotFoundError):  # as it should be: whoever ran it has removed it
        shutil.rmtree(bundle)


def _read_number(path: Path, deadline: float) -> int:
    """Read a runtime's file of one number, which is put there once the holder runs."""
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(_PAUSE_SECONDS)
    return int(path.read_text())


def runtime_line(runtime: str, bundle: Path) -> list[str]:
    """Return the command that runs a bundle in the foreground and removes it in the end.

    All that the runtime knows of the container is in it. A grader that was killed removes nothing:
    its end is the holder's, and that the runtime's.
    """
    name = f"grader-{secrets.token_hex(8)}"
    options = ["--bundle", str(bundle), "--pid-file", str(bundle / "pid")]
    run = [runtime, "--root", str(bundle / "state"), "run", *options, name]
    return ["/bin/sh", "-c", _RUN_AND_REMOVE, str(bundle), *run]


def write_root(root: Path, holder: bytes, user: int) -> None:
    """Write the folder that looks like `/` inside: mount points, links, accounts, the holder."""
    for name in ("usr", "proc", "dev", "tmp", "run", "etc", SCRATCH.name):
        (root / name).mkdir(mode=0o755, parents=True)
    for name in SYSTEM_FOLDERS:
        path = Path("/") / name
        if path.is_symlink():
            (root / name).symlink_to(path.readlink())
    for place, text in account_files(user).items():
        (root / place.lstrip("/")).write_text(text, encoding="utf-8")
    copy = root / HOLDER.lstrip("/")
    copy.write_bytes(holder)
    copy.chmod(HOLDER_PERMISSIONS)
    for folder in interpreter_folders():
        (root / folder.relative_to("/")).mkdir(mode=0o755, parents=True, exist_ok=True)
    for path in (root, *root.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)  # whatever this user's umask is
    (root / "tmp").chmod(0o1777)  # runc lets what is mounted have the permissions of the place
    (root / SCRATCH.name).chmod(0o777)


def list_mounts(scratch_bytes: int, covered: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the mounts in their order: a later one covers an earlier one."""
    package = Path(grader.__file__).resolve().parent
    python = interpreter_folders()
    page = os.sysconf("SC_PAGE_SIZE")
    folders = [Path("/usr"), *(Path("/") / name for name in SYSTEM_FOLDERS)]
    shown = [path for path in folders if path.is_dir() and not path.is_symlink()]
    shown += [path for path in map(Path, SYSTEM_FILES) if path.exists()]
    if any(package.is_relative_to(folder) for folder in (Path("/usr"), *python)):
        covered = (*covered, package)
    return [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        # a device works where it is: none can be made by who has no capability
        _tmpfs("/dev", page * 16, 0o755, "ro"),
        # `!command` runs in its own terminal: one of these, which are the container's alone
        {"destination": "/dev/pts", "type": "devpts", "source": "devpts", "options": _TERMINALS},
        _tmpfs("/dev/shm", SHARED_MEMORY_BYTES, 0o1777, "nodev"),  # noqa: S108
        _tmpfs("/tmp", TEMPORARY_BYTES, 0o1777, "nodev"),  # noqa: S108
        _tmpfs(str(SCRATCH), scratch_bytes, 0o777, "nodev"),
        *(_bind(path) for path in (*shown, *python)),
        *(_tmpfs(str(path), page, 0o755, "ro", "nodev") for path in covered),
    ]


def describe(holder: int, mounts: list[dict[str, Any]], *, as_root: bool) -> dict[str, Any]:
    """Return a container's description (OCI runtime specification 1.0), for one holder.

    `holder` is the user id that it has inside.
    """
    sets = ("bounding", "effective", "permitted", "inheritable", "ambient")
    return {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": holder, "gid": holder},
            "args": hold(),
            "env": ["PATH=/usr/bin:/bin"],
            "cwd": "/",
            "noNewPrivileges": True,
            "capabilities": {name: [] for name in sets},
        },
        "root": {"path": "rootfs", "readonly": True},
        "hostname": "sandbox",
        "mounts": mounts,
        "linux": {
            **_isolation(as_root=as_root),
            "readonlyPaths": list(_READ_ONLY),
            "maskedPaths": list(_MASKED),
            "seccomp": {
                "defaultAction": "SCMP_ACT_ALLOW",
                "syscalls": [
                    {"names": _DENIED_TO_HOLDER.split(), "action": "SCMP_ACT_ERRNO"},
                ],
            },
        },
    }


def _isolation(*, as_root: bool) -> dict[str, Any]:
    kinds = ["pid", "network", "ipc", "uts", "mount", *([] if as_root else ["user"])]
    found: dict[str, Any] = {"namespaces": [{"type": kind} for kind in kinds]}
    if not as_root:
        for key, number in (("uidMappings", os.getuid()), ("gidMappings", os.getgid())):
            found[key] = [{"containerID": 0, "hostID": number, "size": 1}]
    return found


def _bind(path: Path) -> dict[str, Any]:
    options = ["rbind", "ro", "nosuid", "nodev"]
    return {"destination": str(path), "type": "bind", "source": str(path), "options": options}


def _tmpfs(path: str, size: int, mode: int, *options: str) -> dict[str, Any]:
    words = ["nosuid", f"size={size}", f"mode={mode:04o}", *options]
    return {"destination": path, "type": "tmpfs", "source": "tmpfs", "options": words}
