"""What must not be read is not, wherever it lies: below /usr, which every box shows, too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from grader.sandbox.interface import LEVELS, Level
from grader.sandbox.start import SteppingSandbox
from tests.cheats.fixtures import COURSES, load_cheat
from tests.cheats.fixtures import FOLDER as CHEATS
from tests.conftest import require
from tests.endtoend.batches import grade_batch
from tests.missing import AS_ROOT, RUNTIME
from tests.users import as_user, need_user_namespaces, with_open_interpreter

VISIBLE = (Path("/usr/local/share"), Path(sysconfig.get_paths()["purelib"]))
"""Where boxes look: a folder of the system, and the one in which Python looks for packages."""

INSIDE = """
import os, sys, numpy, msgspec
def read(path):
    try:
        return open(path).read()
    except OSError:
        return "refused"
print(read({secret!r}), read({beside!r}), file=sys.stderr)
"""
PROGRAM = """
import sys
from pathlib import Path
from grader.sandbox.choose import choose_sandbox
from grader.sandbox.interface import Command
level, protected, inside = sys.argv[1:]
with choose_sandbox(level, minimum="none", protected=[Path(protected)]) as sandbox:
    process = sandbox.start(Command("python", ("-c", inside)))
    process.wait(30)
    print(process.standard_error)
"""

needs_root = pytest.mark.skipif(
    not all(os.access(folder, os.W_OK) for folder in VISIBLE),
    reason=f"only root can put something there: {AS_ROOT}",
)


@pytest.fixture(params=VISIBLE, ids=["system", "packages"])
def folder(request: pytest.FixtureRequest) -> Iterator[Path]:
    """A folder that boxes show, readable for all, with a secret and a file beside it."""
    outer = Path(tempfile.mkdtemp(prefix="grader-test-", dir=request.param))
    (outer / "course" / "deep").mkdir(parents=True)
    for name in ("course/deep/secret", "beside"):
        (outer / name).write_text(name.rpartition("/")[2])
    for path in (outer, *outer.rglob("*")):
        path.chmod(0o755)
    yield outer
    shutil.rmtree(outer)


def told(level: Level, protected: Path, folder: Path, kind: str) -> list[str]:
    become = as_user if kind == "user" else with_open_interpreter
    inside = INSIDE.format(
        secret=str(folder / "course" / "deep" / "secret"), beside=str(folder / "beside")
    )
    done = subprocess.run(
        become([sys.executable, "-c", PROGRAM, level, str(protected), inside]),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stdout.split() or done.stderr.splitlines()[-1:]


@needs_root
@pytest.mark.parametrize("kind", ["root", "user"])
@pytest.mark.parametrize("level", [level for level in LEVELS if level not in ("minimal", "none")])
@pytest.mark.parametrize("named", ["course", "course/deep/secret"])
def test_a_protected_folder_below_usr_is_closed_and_nothing_else(
    level: Level, kind: str, named: str, folder: Path
) -> None:
    if level == "container":
        RUNTIME.need()
    if kind == "user" and level in ("strong", "container"):
        need_user_namespaces()
    assert ["refused", "beside"] == told(level, folder / named, folder, kind)


@needs_root
def test_without_protection_it_could_be_read(folder: Path) -> None:
    assert ["secret", "beside"] == told("strong", Path("/nowhere"), folder, "root")


@needs_root
def test_a_course_below_usr_is_closed_to_what_is_graded(
    folder: Path, tmp_path: Path, sandbox: SteppingSandbox
) -> None:
    require(sandbox, "basic")
    course = shutil.copytree(COURSES[0], folder / "small")
    cheat = load_cheat(CHEATS / "escapes" / "read_oracle.py")
    notebook = nbformat.writes(cheat.notebook({"course": str(course)})).encode()
    batch = grade_batch(tmp_path, {"spy": notebook}, "--course", course)
    report = batch.reports["spy"]
    assert report.problems == ()
    assert report.score == 10
