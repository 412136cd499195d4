"""The public face, called from wherever a program may stand: cells, loops, threads and pools."""

from __future__ import annotations

import asyncio
import multiprocessing
import threading
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

import grader
from tests.cli.test_batch import COURSE, ENDLESS, RIGHT, WRONG, write

pytestmark = pytest.mark.graded

SECONDS = 300

SETUP = """
import os, signal, threading
from pathlib import Path
import grader
from grader.progress import Silent

def children():
    tasks = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return sorted(number for each in tasks for number in each.read_text().split())

class Told(Silent):
    threads = set()
    def stage(self, name, *, waits=False):
        self.threads.add(threading.current_thread().name)
    def step(self, done, total, label=""):
        self.threads.add(threading.current_thread().name)

class Interrupting(Silent):
    def step(self, done, total, label=""):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()

before = children()
"""

CELLS = {
    "setup": SETUP,
    "grade": "report = grader.grade('hw.ipynb', course=course, seed=7, progress=Told())\n"
    "print(report.score, report.max_score, Told.threads)",
    "many": "print({name: report.score for name, report in"
    " grader.grade_many(['class'], course=course, seed=7, jobs=2, reports='reports')})",
    "load": "report = grader.load_report('reports/ben/hw.json')\n"
    "print(report.score, report.render('html')[:15])",
    "verify": "print(grader.verify('layer', course=layer, quick=True).passed)",
    "interrupt": "grader.grade('endless.ipynb', course=course, progress=Interrupting())",
    "left": "print(children() == before)",
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "hw.ipynb", *RIGHT)
    write(tmp_path / "class/ben/hw.ipynb", *WRONG)
    write(tmp_path / "endless.ipynb", *ENDLESS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_cells(folder: Path) -> dict[str, NotebookNode]:
    """Return the last output of each cell, run by a kernel of this interpreter."""
    from grader.authoring.skeleton import make_assignment

    make_assignment(folder / "own", "layer")
    names = f"course, layer = {str(COURSE)!r}, {str(folder / 'own')!r}"
    sources = [f"{names}\n{CELLS['setup']}", *list(CELLS.values())[1:]]
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, sources)])
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        allow_errors=True,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute()
    outputs = (cell.outputs for cell in notebook.cells)
    return {name: seen[-1] for name, seen in zip(CELLS, outputs, strict=True) if seen}


def test_in_a_cell_of_jupyter(world: Path) -> None:
    seen = run_cells(world)
    texts = {name: output.get("text", output.get("evalue")) for name, output in seen.items()}
    assert {
        "grade": "10.0 10.0 {'MainThread'}\n",
        "many": "{'ben/hw': 4.0}\n",
        "load": "4.0 <!doctype html>\n",
        "verify": "True\n",
        "interrupt": "",
        "left": "True\n",
    } == texts
    assert "KeyboardInterrupt" == seen["interrupt"].ename


def score() -> float:
    return grader.grade("hw.ipynb", course=COURSE, seed=7).score


def test_in_an_asynchronous_function(world: Path) -> None:
    async def handle() -> float:
        return score()

    assert 10 == asyncio.run(handle())


def test_in_a_thread(world: Path) -> None:
    scores: list[float] = []
    thread = threading.Thread(target=lambda: scores.append(score()))
    thread.start()
    thread.join()
    assert [10] == scores


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_in_a_pool_of_processes(world: Path, method: str) -> None:
    with multiprocessing.get_context(method).Pool(1) as pool:
        graded = pool.apply_async(grader.grade, ("hw.ipynb",), {"course": COURSE, "seed": 7})
        assert 10 == graded.get(SECONDS).score
        failed = pool.apply_async(grader.grade, ("nowhere.ipynb",), {"course": COURSE})
        with pytest.raises(grader.GraderError) as caught:
            failed.get(SECONDS)
        assert caught.value.hint
