"""grader from Python: every example of docs/api.md runs, and `import grader` costs nothing."""

from __future__ import annotations

import ast
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import grader
from grader.api import answers, open_batch
from grader.authoring.skeleton import make_assignment
from grader.batch.collect import Entry
from grader.batch.grading import Store, open_store
from grader.batch.keys import Keys
from grader.batch.summary import Row
from grader.data.dataset import IMAGES, LABELS, write_idx
from grader.data.parameters import KNOWN
from grader.data.resolve import FolderPictures
from grader.errors import GraderError, Mistake, MistakeError, UsageError
from grader.evidence import registry
from grader.grading.preparation import GradingOptions
from grader.language import say
from grader.progress import Silent
from tests.cli.test_batch import COURSE, RIGHT, WRONG, write
from tests.data.conftest import MLP
from tests.endtoend.command import GRADER
from tests.sample_reports import typical

PAGE = Path(__file__).parents[1] / "docs" / "api.md"


def examples() -> list[str]:
    """Return the page's blocks of Python."""
    return [each.partition("```")[0] for each in PAGE.read_text("utf-8").split("```python\n")[1:]]


def imported(code: str) -> set[str]:
    """Return what a new process has imported after some code, which it had not before."""
    words = "import sys; before = {*sys.modules}\n" + code + "\nprint({*sys.modules} - before)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, check=True, text=True)
    return set(ast.literal_eval(done.stdout))


def children() -> set[str]:
    """Return the processes that this one has started, by their numbers."""
    own = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {number for each in own for number in each.read_text().split()}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(COURSE, tmp_path / "my-course")
    make_assignment(tmp_path / "my-course", "layer")
    write(tmp_path / "hw.ipynb", *RIGHT)
    write(tmp_path / "class/ada/hw.ipynb", *RIGHT)
    write(tmp_path / "class/ben/hw.ipynb", *WRONG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.graded
def test_the_examples_of_the_page_run(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_KINDS", {**registry._KINDS})
    names: dict[str, object] = {}
    here = [each for each in examples() if "cluster=" not in each]  # tests/cluster has one
    for number, example in enumerate(here):
        exec(compile(example, f"api.md, example {number + 1}", "exec"), names)
    assert {"ada", "ben", "summary.json"} >= {each.name for each in (world / "reports").iterdir()}
    assert names["no_calls"] is registry._KINDS["no_calls"].decide


@pytest.mark.graded
def test_who_leaves_the_loop_ends_what_is_being_graded(world: Path) -> None:
    write(world / "class/zoe/hw.ipynb", "while True: pass")
    before = children()
    submissions = grader.grade_many(["class"], course="my-course", jobs=2)
    first, _ = next(submissions)
    submissions.close()
    assert first in ("ada/hw", "ben/hw")
    assert children() <= before


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of data with five images."""
    labels, images = np.arange(5, dtype=np.uint8), np.zeros((5, 28, 28), np.uint8)
    folder = tmp_path / "data"
    (folder / IMAGES).parent.mkdir(parents=True)
    (folder / LABELS).write_bytes(write_idx(labels))
    (folder / IMAGES).write_bytes(write_idx(images))
    asset = files("grader.data") / "assets" / KNOWN[MLP].asset
    (folder / MLP).with_suffix(".npz").write_bytes(asset.read_bytes())
    return folder


class _Asking(Store):
    """A store that, like a gradebook, asks for what is known of an assignment."""

    def answers(self, entries: Iterable[Entry], keys: Keys) -> dict[str, Row]:
        assert keys.of("images") is not None
        return super().answers(entries, keys)


@pytest.mark.graded
def test_images_of_which_a_gradebook_was_asked_are_not_read_again(
    tmp_path: Path, data: Path
) -> None:
    options = GradingOptions(course=COURSE.with_name("kinds"), data=str(data))
    pictures, store = FolderPictures(), _Asking(tmp_path / "reports")
    assert {} == answers(store, (), options, pictures)
    (data / IMAGES).write_bytes(b"gone since then")
    with open_batch(options, (), store, pictures=pictures) as opened:
        chosen = next(each for each in opened.possible if each.assignment.slug == "images")
        assert 5 == len(opened.batch.prepare(chosen).data(Silent()).images)


@pytest.mark.graded
def test_images_that_a_batch_has_looked_at_are_not_read_again(tmp_path: Path, data: Path) -> None:
    options = GradingOptions(course=COURSE.with_name("kinds"), data=str(data))
    with open_store(tmp_path / "reports") as store, open_batch(options, (), store) as opened:
        opened.find_data((), Silent())
        (data / IMAGES).write_bytes(b"gone since then")
        chosen = next(each for each in opened.possible if each.assignment.slug == "images")
        assert 5 == len(opened.batch.prepare(chosen).data(Silent()).images)


def test_a_program_and_the_command_line_say_the_same_of_what_is_no_report(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("{}")
    with pytest.raises(UsageError, match="is not a report") as caught:
        grader.load_report(path)
    done = subprocess.run(
        [GRADER, "render", path, "--format", "text"], capture_output=True, text=True
    )
    assert caught.value.message.english in " ".join(done.stderr.split())


class TestNames:
    def test_importing_it_imports_nothing_else(self) -> None:
        assert {"grader"} == imported("import grader") - {"__future__"}

    def test_every_public_name_is_there_and_has_a_docstring(self) -> None:
        for name in grader.__all__:
            assert getattr(grader, name).__doc__, name
        assert {*grader.__all__} <= {*dir(grader)}

    def test_another_name_is_not(self) -> None:
        with pytest.raises(AttributeError, match="has no attribute 'grades'"):
            _ = grader.grades

    def test_errors_are_those_of_the_whole_grader(self) -> None:
        assert grader.GraderError is GraderError

    def test_errors_can_be_sent_between_processes(self) -> None:
        """A pool of processes waits for ever for one that cannot be unpickled."""
        mistake = Mistake("raises", Path("oracle.py"), 3, say("It raises."), say("Mend it."))
        for error in (GraderError(say("Nothing."), say("Try.")), MistakeError(mistake)):
            again = pickle.loads(pickle.dumps(error))
            assert type(error) is type(again)
            assert (str(error), error.hint) == (str(again), again.hint)

    def test_reports_can_be_sent_to_a_process_that_has_imported_nothing(self) -> None:
        program = "import pickle, sys; print(pickle.load(sys.stdin.buffer).render('github'))"
        sent = pickle.dumps(typical())
        done = subprocess.run([sys.executable, "-c", program], input=sent, capture_output=True)
        assert f"{typical().render('github')}\n" == done.stdout.decode(), done.stderr

    def test_a_traceback_ends_with_what_to_do(self) -> None:
        with pytest.raises(GraderError) as caught:
            grader.grade("nowhere.ipynb", course="nowhere")
        assert caught.value.hint
        assert [caught.value.hint.english] == caught.value.__notes__

    def test_a_format_that_there_is_not_is_told_with_those_that_there_are(self) -> None:
        with pytest.raises(ValueError, match="no format 'pdf', but text, json, html"):
            typical().render("pdf")
