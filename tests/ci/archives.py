"""Unpacking an archive as Gradescope does, and running it in a tree like its own."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyseccomp

from grader.sandbox.interface import Level
from tests.users import need_boxes, with_open_interpreter

SECONDS = 900

_OF_A_CONTAINER = (
    "+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,"
    "+net_raw,+sys_chroot,+mknod,+audit_write,+setfcap"
)
"""Capabilities that Docker leaves root, by default: none of them makes a namespace."""

_LANDLOCK_CREATE_RULESET = 444


@dataclass(frozen=True)
class Ran:
    """What a script left: its exit code, its output, and the result."""

    code: int
    output: str
    results: Any = None


def unpack(content: bytes, folder: Path) -> None:
    """Unpack an archive with the permissions that it names."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for entry in archive.infolist():
            archive.extract(entry, folder)
            (folder / entry.filename).chmod(entry.external_attr >> 16 & 0o777)


class Autograder:
    """A folder that is /autograder for the scripts, which run as root.

    `strongest` is what the machine allows: "strong" everything, "basic" what a container does, and
    "minimal" a container on a kernel without Landlock.
    """

    def __init__(self, folder: Path, archive: bytes, strongest: Level = "strong") -> None:
        self.folder = folder
        self._strongest = strongest
        for name in ("source", "submission", "results"):
            (folder / name).mkdir(parents=True)
        unpack(archive, folder / "source")
        script = folder / "run_autograder"
        script.write_bytes((folder / "source/run_autograder").read_bytes())
        script.chmod(0o755)

    def run(self, *command: str) -> Ran:
        """Run a command in the tree. The environment that the tests run in has the grader."""
        need_boxes()
        with tempfile.TemporaryFile() as filter_file:
            done = subprocess.run(
                with_open_interpreter(self._enter(filter_file, [*self._limit(), *command])),
                env={
                    **os.environ,
                    "PATH": "/usr/bin:/bin:/usr/sbin:/sbin",
                    "GRADER_ENVIRONMENT": sys.prefix,
                    "GRADER_DATA": "builtin",
                },
                cwd="/",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=SECONDS,
                pass_fds=(filter_file.fileno(),),
            )
        path = self.folder / "results/results.json"
        results = json.loads(path.read_bytes()) if path.exists() else None
        return Ran(done.returncode, done.stdout, results)

    def _enter(self, filter_file: Any, command: list[str]) -> list[str]:
        options = ["--tmpfs", "/"]
        for path in sorted(Path("/").iterdir()):
            if path.is_symlink():
                options += ["--symlink", str(path.readlink()), str(path)]
            elif path.is_dir():
                options += ["--dev-bind", str(path), str(path)]
        options += ["--bind", str(self.folder), "/autograder", "--die-with-parent"]
        if self._strongest == "minimal":
            rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
            rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), _LANDLOCK_CREATE_RULESET)
            rules.export_bpf(filter_file)
            filter_file.seek(0)
            options += ["--seccomp", str(filter_file.fileno())]
        return ["bwrap", *options, "--", *command]

    def _limit(self) -> list[str]:
        if self._strongest == "strong":
            return []
        return ["setpriv", f"--bounding-set=-all,{_OF_A_CONTAINER}", "--"]
