"""A machine that cannot grade says so in a sentence, and not amid what Dask says of processes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grader.cluster.ability import need_grading
from grader.cluster.address import PRELOAD
from grader.errors import SandboxError
from tests.cluster.farm import farm, free_port
from tests.endtoend.command import GRADER

NEVER_STARTS = """
import os, sys
if any("spawn_main" in each for each in sys.orig_argv):
    os._exit(3)
"""
"""What makes workers end while they start."""


def run(folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command on a machine on which no program is installed: also no bubblewrap."""
    environment = {**os.environ, "PATH": str(folder), "COLUMNS": "400", **more}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("kind", ["worker", "local"])
def test_a_command_whose_worker_could_not_grade_says_why_and_what_to_do(
    tmp_path: Path, kind: str
) -> None:
    which = [f"tcp://127.0.0.1:{free_port()}"] if kind == "worker" else ["--port", "0"]
    done = run(tmp_path, str(GRADER), "cluster", kind, *which, "--sandbox", "strong")
    assert (2, "") == (done.returncode, done.stdout)
    why, what_to_do = done.stderr.splitlines()
    assert why.startswith('grader: There is no sandbox of the level "strong".')
    assert "bubblewrap" in why and "bubblewrap" in what_to_do


@pytest.mark.parametrize("kind", ["open to all", "a file", "a link"])
def test_a_worker_keeps_its_files_in_no_folder_that_somebody_else_may_have_filled(
    tmp_path: Path, kind: str
) -> None:
    """It looks for modules there first: who has an account on the machine could put some there."""
    folder = tmp_path / f"dask-scratch-space-grader-{os.getuid()}"
    if kind == "open to all":
        folder.mkdir()
        folder.chmod(0o777)
    elif kind == "a file":
        folder.touch()
    else:
        folder.symlink_to(tmp_path)
    words = ("cluster", "worker", f"tcp://127.0.0.1:{free_port()}", "--sandbox", "none")
    done = run(tmp_path, str(GRADER), *words, TMPDIR=str(tmp_path))
    assert (2, "") == (done.returncode, done.stdout)
    assert [each.strip() for each in done.stderr.splitlines()] == [
        f"grader: {folder} must belong to you and be closed to other users.",
        "Remove it, or set TMPDIR to a folder that only you may write to.",
    ]


def test_a_worker_keeps_its_files_in_a_folder_of_its_user(tmp_path: Path) -> None:
    """Nor does it import anything from where it is started: `python -m` looks there first."""
    here = tmp_path / "submissions"
    here.mkdir()
    (here / "distributed.py").write_text("raise SystemExit(3)")
    with tempfile.TemporaryDirectory(prefix="c-", dir="/tmp") as short, farm(0) as made:
        words = [GRADER, "cluster", "worker", made.address, "--jobs", "1", "--sandbox", "none"]
        with (tmp_path / "log").open("wb") as log, made.client() as client:
            worker = subprocess.Popen(
                words, cwd=here, stdout=log, stderr=log, env={**os.environ, "TMPDIR": short}
            )
            try:
                client.wait_for_workers(1, timeout=120)
                (record,) = client.scheduler_info()["workers"].values()
            finally:
                worker.terminate()
                worker.wait(60)
        folder = Path(record["local_directory"]).parent
        assert Path(short) / f"dask-scratch-space-grader-{os.getuid()}" == folder
        assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
        assert [folder] == [*Path(short).iterdir()]


def test_the_level_that_is_demanded_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SandboxError, match="strong"):
        need_grading("strong")
    need_grading("none")


def test_workers_that_end_while_they_start_are_not_said_to_lack_a_port(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(NEVER_STARTS)
    words = ("cluster", "local", "--workers", "1", "--port", "0", "--sandbox", "none")
    done = run(tmp_path, str(GRADER), *words, PYTHONPATH=str(tmp_path))
    assert 2 == done.returncode
    assert done.stderr.splitlines()[-2:] == [
        "grader: No worker could be started.",
        "        Run `grader doctor` for the reason.",
    ]


@pytest.mark.parametrize("nanny", [(), ("--preload-nanny", PRELOAD)])
def test_a_worker_of_dask_that_cannot_grade_says_why_and_ends_at_once(
    tmp_path: Path, nanny: tuple[str, ...]
) -> None:
    words = ("--no-dashboard", *nanny, "--preload", PRELOAD, "--level", "strong")
    program = (sys.executable, "-m", "distributed.cli.dask_worker")
    with farm(workers=0) as made:
        told = run(tmp_path, *program, made.address, *words).stderr
    assert 'grader: There is no sandbox of the level "strong".' in told
    assert "Process Dask Worker process" not in told
    assert ("Traceback" in told) is not bool(nanny)  # without its preload a nanny knows of nothing
