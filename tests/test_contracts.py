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
BOXED = "Boxed evidence has messages and what boxes share"
WIRE = "Messages of evidence are messages"
EMPTY = "A folder that a box imports from imports nothing"
APART = "A kind of evidence knows no other one"
FOR_BOXES = "Boxed evidence is for boxes"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package's modules and the contracts."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "grader", folder / "grader", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "contracts.py", folder / "tools")
    for kind in ("attic", "cellar"):
        add_kind(folder / "grader" / "evidence" / kind)
    return folder


def add_kind(folder: Path) -> None:
    """Write a kind of evidence that does what all contracts allow."""
    own = f"grader.evidence.{folder.name}"
    files = {
        "__init__.py": "",
        "messages.py": "from grader.messages.frames import Message",
        "inside/__init__.py": "",
        "inside/entry.py": "import tvm\nfrom grader.inside.common.modules import load_module"
        f"\nfrom {own}.messages import Message\nimport {own}.inside.deep",
        "inside/deep.py": "import numpy\nimport grader.messages",
        "gather.py": f"from grader.evidence.plug import ask\nfrom {own}.messages import Message",
        "kind.py": f"from {own}.gather import ask\nfrom grader.language import say",
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""A file."""\n\n{text}\n', encoding="utf-8")


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
        (("evidence/attic/inside/deep.py", "import grader.evidence.plug"), BOXED),
        (("evidence/attic/inside/deep.py", "import grader.evidence.attic.gather"), BOXED),
        (("evidence/attic/inside/deep.py", "import grader.evidence.cellar.messages"), BOXED),
        (("evidence/attic/inside/deep.py", "from grader.ir import facts"), BOXED),
        (("evidence/attic/inside/deep.py", "from grader.report import Report"), BOXED),
        (("evidence/attic/inside/entry.py", "from grader.inside.runner import model"), BOXED),
        (("evidence/attic/inside/deep.py", "import pickle"), PURE),
        (("evidence/attic/inside/deep.py", "import cloudpickle"), PURE),
        (("evidence/attic/messages.py", "from grader.report import Report"), WIRE),
        (("evidence/attic/messages.py", "import tvm"), NO_TVM),
        (("evidence/attic/__init__.py", "import grader.evidence.attic.kind"), EMPTY),
        (("evidence/__init__.py", "import grader.evidence.plug"), EMPTY),
        (("evidence/attic/gather.py", "import grader.evidence.cellar.gather"), APART),
        (("evidence/attic/gather.py", "import grader.sandbox.choose"), APART),
        (("evidence/attic/gather.py", "import grader.evidence.attic.inside.entry"), FOR_BOXES),
        (("grading/referee.py", "import grader.evidence.attic.inside.entry"), FOR_BOXES),
        (("evidence/attic/gather.py", "import tvm"), NO_TVM),
        (("evidence/attic/gather.py", "from grader.inside.common import modules"), STARTED),
        (("evidence/attic/gather.py", "import pickle"), NO_PICKLE),
        (("evidence/attic/gather.py", "from grader.grading import judge"), LAYERS),
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
