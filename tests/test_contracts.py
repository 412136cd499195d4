"""Which module may import which: the contracts of pyproject.toml, and that none is empty words."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINT = Path(sys.executable).with_name("lint-imports")

LAYERS = "Rooms lie above one another"
BESIDE = "Sandboxed processes lie beside one another"
PURE = "Where modules run nothing is unpickled"
STARTED = "A launcher alone starts"
NO_LANGUAGE = "Whoever judges speaks no language"
NO_TVM = "The trusted side has no TVM"
NO_PICKLE = "Nothing is unpickled"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package's modules and the contracts."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "grader", folder / "grader", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.fixture
def broken(copy: Path, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Return the contracts that are broken by one more import in one module."""
    module, line = request.param
    path = copy / "grader" / module
    original = path.read_text("utf-8") if path.exists() else None
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{original or ''}\n{line}\n", encoding="utf-8")
    yield contracts_broken(copy)
    path.write_text(original, encoding="utf-8") if original else shutil.rmtree(path.parent)


def contracts_broken(folder: Path) -> list[str]:
    words = [LINT, "--no-logo", "--cache-dir", folder / "cache"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    found = [line for line in done.stdout.splitlines() if " BROKEN" in line]
    assert (1 if found else 0) == done.returncode, done.stdout + done.stderr
    return found


def test_all_are_kept(copy: Path) -> None:
    assert [] == contracts_broken(copy)


@pytest.mark.parametrize(
    ("broken", "contract"),
    [
        (("inside/runner/model.py", "from grader.report import Report"), LAYERS),
        (("inside/kernel/capture.py", "from grader.inside.evaluator import entry"), BESIDE),
        (("inside/runner/model.py", "from grader.inside.mutants import entry"), BESIDE),
        (("inside/launcher/warden.py", "from grader.inside.runner import entry"), BESIDE),
        (("inside/attic/__init__.py", "ROOM = 1"), BESIDE),
        (("inside/mutants/entry.py", "from grader.inside.evaluator import entry"), PURE),
        (("inside/common/machine.py", "import pickle"), PURE),
        (("ir/read.py", "from grader.grading import referee"), LAYERS),
        (("attic/__init__.py", "ROOM = 1"), LAYERS),
        (("grading/referee.py", "from grader.inside.runner import model"), STARTED),
        (("grading/judge.py", "from grader.render.speech import tell"), NO_LANGUAGE),
        (("grading/referee.py", "import tvm"), NO_TVM),
        (("grading/referee.py", "import cloudpickle"), NO_TVM),
        (("grading/referee.py", "import pickle"), NO_PICKLE),
        (("cluster/jobs.py", "import pickle"), NO_PICKLE),
        (("grading/referee.py", "import marshal"), "Nothing else is unpickled"),
    ],
    indirect=["broken"],
)
def test_a_forbidden_import_breaks_one(broken: list[str], contract: str) -> None:
    assert any(line.startswith(contract) for line in broken), broken


def test_the_library_of_timing_needs_numpy_and_nothing_else() -> None:
    """It is there for other people's measurements as well."""
    names = set()
    for path in (ROOT / "grader" / "timing").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                names.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module)
    foreign = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
    assert {"grader", "msgspec", "numpy"} == foreign
