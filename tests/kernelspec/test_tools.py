"""The sandboxed kernel in what starts kernels: each runs a notebook that looks about, and leaves
neither a process nor a folder.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
import pytest

from tests.cli.test_batch import GRADER
from tests.endtoend.batches import REAPER
from tests.users import need_boxes

USING = Path(__file__).with_name("using.py")
BIN = Path(sys.executable).parent
LEVEL = os.environ.get("GRADER_TEST_LEVEL", "strong")
SECONDS = 600
TRAP = "from pathlib import Path\nPath({marker!r}).touch()\nraise SystemExit(9)\n"
TRAPS = ("random.py", "typer.py", "zmq.py", "grader/__init__.py", "sitecustomize.py")
"""What lies beside the notebook: whoever imports it runs what was handed in."""

pytestmark = pytest.mark.skipif(
    LEVEL not in ("strong", "container", "basic"), reason=f"no kernel is run at the level {LEVEL}"
)

LOOK = """
import json, os, socket
def opens(path):
    try:
        with open(path) as file:
            return bool(file.read())
    except OSError:
        return False
def connects(port):
    try:
        return not socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
print(json.dumps({{
    "home": opens({home!r}), "beside": opens({beside!r}), "network": connects({port}),
    "environment": "GRADER_TEST_SECRET" in os.environ, "files": os.listdir("."),
}}))
"""
NOTHING = {"home": False, "beside": False, "network": False, "environment": False, "files": []}


class World(NamedTuple):
    """A home, a folder with a notebook and what else lies there, and Jupyter's folders."""

    root: Path
    temporary: Path
    look: Path

    @property
    def folder(self) -> Path:
        return self.root / "handed-in"

    @property
    def environment(self) -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return own | {
            "HOME": str(self.root / "home"),
            "JUPYTER_PATH": str(self.root / "prefix/share/jupyter"),
            "JUPYTER_RUNTIME_DIR": str(self.root / "runtime"),
            "TMPDIR": str(self.temporary),
            "GRADER_TEST_SECRET": "1",
            "PYTHONWARNINGS": "ignore",
        }


class Use(NamedTuple):
    """What a program has printed and what it left: processes, and folders for temporary files."""

    code: int
    output: str
    messages: str
    processes: list[str]
    folders: list[str]

    def found(self) -> dict[str, Any]:
        assert 0 == self.code, self.messages
        found: dict[str, Any] = json.loads(self.output)
        return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    need_boxes()
    root = tmp_path_factory.mktemp("world")
    temporary = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    temporary.chmod(0o755)
    world = World(root, temporary, root / "cell.py")
    with socket.create_server(("127.0.0.1", 0)) as host:
        (root / "home").mkdir()
        (root / "home/secret").write_text("secret")
        for name in TRAPS:
            path = world.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(TRAP.format(marker=str(root / "sprung")))
        port = host.getsockname()[1]
        names = {"home": str(root / "home/secret"), "beside": str(world.folder / "random.py")}
        world.look.write_text(LOOK.format(port=port, **names))
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(world.look.read_text())]
        )
        nbformat.write(notebook, world.folder / "hw.ipynb")
        install = (GRADER, "kernelspec", "install", "--sandbox", LEVEL, "--prefix")
        subprocess.run([*install, root / "prefix"], check=True, env=world.environment)
        yield world
    shutil.rmtree(temporary)


def use(world: World, name: str, *command: str | Path) -> Use:
    """Run a program in the folder with the notebook, and see what it leaves."""
    listing = world.root / f"{name}.txt"
    temporary = world.temporary / name
    temporary.mkdir()
    temporary.chmod(0o755)
    done = subprocess.run(
        [sys.executable, REAPER, str(SECONDS), listing, *command],
        capture_output=True,
        text=True,
        cwd=world.folder,
        env={**world.environment, "TMPDIR": str(temporary)},
    )
    folders = [each.name for each in temporary.glob("grader-*")]
    return Use(done.returncode, done.stdout, done.stderr, listing.read_text().splitlines(), folders)


@pytest.fixture(scope="module")
def uses(world: World) -> dict[str, Use]:
    """Every program, three at a time: it is mostly the imports of kernels that take long."""
    notebook, executed = world.folder / "hw.ipynb", world.root / "papermill.ipynb"
    ways = ("jupyter_client", "jupyter", "nbclient")
    commands: dict[str, tuple[str | Path, ...]] = {
        way: (sys.executable, USING, way, "grader", world.folder, world.look) for way in ways
    }
    kernel = "--ExecutePreprocessor.kernel_name=grader"
    convert = (BIN / "jupyter", "nbconvert", "--execute", "--to", "notebook", "--stdout")
    commands["nbconvert"] = (*convert, "--log-level=ERROR", kernel, notebook)
    commands["papermill"] = (BIN / "papermill", "-k", "grader", notebook, executed)
    with ThreadPoolExecutor(3) as executor:
        begun: dict[str, Future[Use]] = {
            name: executor.submit(use, world, name, *command) for name, command in commands.items()
        }
        return {name: each.result() for name, each in begun.items()}


def test_what_the_notebook_looks_for_is_there_for_whoever_is_in_no_sandbox(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook that finds nothing anywhere would show nothing."""
    monkeypatch.chdir(world.folder)
    monkeypatch.setenv("GRADER_TEST_SECRET", "1")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(world.look.read_text(), {})
    found = json.loads(printed.getvalue())
    assert found.pop("files")
    assert {True} == set(found.values())


@pytest.mark.parametrize("way", ["nbclient", "jupyter_client", "jupyter"])
def test_a_program_runs_a_cell_that_sees_nothing_of_the_user(
    uses: dict[str, Use], way: str
) -> None:
    assert NOTHING == json.loads(uses[way].found()["seen"])


def test_nbconvert_runs_a_notebook_that_sees_nothing_of_the_user(uses: dict[str, Use]) -> None:
    (cell,) = uses["nbconvert"].found()["cells"]
    assert NOTHING == json.loads("".join(cell["outputs"][0]["text"]))


def test_papermill_runs_a_notebook_that_sees_nothing_of_the_user(
    uses: dict[str, Use], world: World
) -> None:
    assert 0 == uses["papermill"].code, uses["papermill"].messages
    (cell,) = nbformat.read(world.root / "papermill.ipynb", as_version=4).cells
    assert NOTHING == json.loads(cell.outputs[0].text)


@pytest.mark.parametrize(
    "name", ["nbclient", "nbconvert", "papermill", "jupyter_client", "jupyter"]
)
def test_nothing_is_left(uses: dict[str, Use], name: str) -> None:
    """Not even by a kernel that was killed, or whose Jupyter was: the last two."""
    assert ([], []) == (uses[name].processes, uses[name].folders)


def test_nothing_beside_the_notebook_is_imported_outside_of_the_sandbox(
    uses: dict[str, Use], world: World
) -> None:
    """The kernel's process is started in that folder, and is the user's."""
    assert not (world.root / "sprung").exists()


def test_an_interrupt_ends_the_cell_and_nothing_else(uses: dict[str, Use]) -> None:
    found = uses["jupyter_client"].found()
    assert ("KeyboardInterrupt", "1\n") == (found["interrupted"], found["kept"])


def test_memory_is_limited_as_in_a_grading(uses: dict[str, Use]) -> None:
    assert "MemoryError" == uses["jupyter_client"].found()["memory"]


def test_a_restart_makes_another_kernel_that_has_forgotten_all(uses: dict[str, Use]) -> None:
    found = uses["jupyter_client"].found()
    assert (True, "NameError") == (found["another"], found["forgotten"])


def test_it_shuts_down_when_it_is_asked(uses: dict[str, Use]) -> None:
    """Within the time after which Jupyter sends a signal, and then kills."""
    assert uses["nbclient"].found()["seconds"] < 5


def test_no_output_is_lost(uses: dict[str, Use]) -> None:
    assert 3000 == uses["jupyter_client"].found()["lines"]


def test_the_heart_beats(uses: dict[str, Use]) -> None:
    assert uses["jupyter_client"].found()["beats"]


def test_a_kernel_that_was_killed_leaves_no_control_group(uses: dict[str, Use]) -> None:
    number = uses["jupyter_client"].found()["process"]
    assert [] == list(Path("/sys/fs/cgroup").rglob(f"grader-{number}-*"))
