"""`grader batch`, run as a user runs it."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import nbformat
import pytest

from grader.batch.collect import collect
from grader.batch.grading import Store
from grader.batch.summary import Row, decode_summary
from grader.cli.batch import _owner_name, _write_pages
from grader.lms.collect import (
    MANIFEST,
    Collected,
    CollectedAttempt,
    CollectedFolders,
    CollectedStudent,
)
from grader.report import Report, decode_report, encode_report
from tests.endtoend.command import heed_interrupts
from tests.endtoend.warm import run_warm
from tests.gradebook.small_class import Class
from tests.sample_reports import typical

COURSE = Path(__file__).parents[1] / "courses" / "small"
KINDS = COURSE.with_name("kinds")
GRADER = Path(sys.executable).with_name("grader")
SECONDS = 120

PREPARATION = """
import numpy as np
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R
rows, columns = np.arange(16)[:, None], np.arange(8)
weight = (((rows * 7 + columns * 3) % 11 - 5) / 8).astype("float32")
bias = ((np.arange(16) * 5 % 7 - 3) / 4).astype("float32")
"""

MODEL = """
def create_model():
    builder = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            dense = builder.emit_te(topi.nn.dense, x, relax.const(weight), relax.const(bias))
            output = builder.emit_output(builder.emit_te({function}, dense))
        builder.emit_func_output(output)
    return builder.get()
"""

RIGHT = (PREPARATION, MODEL.format(function="topi.nn.relu"))
WRONG = (PREPARATION, MODEL.format(function="topi.tanh"))
FAILING = ("1 / 0",)
ENDLESS = ("import time\nprint('asleep')\ntime.sleep(600)",)


def write(path: Path, *sources: str, assignment: str = "small") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in sources],
        metadata={"grader": {"assignment": assignment, "version": 1}},
    )
    nbformat.write(notebook, path)


def words(folder: Path, *options: str) -> list[str]:
    paths = [folder / "class", "--output", folder / "reports", "--course", COURSE]
    return [str(GRADER), "batch", *map(str, paths), "--jobs", "2", *options]


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_warm(words(folder, *options)[1:], environment={"COLUMNS": "100"}, timeout=SECONDS)


def rows(folder: Path) -> dict[str, Row]:
    document = (folder / "reports" / "summary.json").read_bytes()
    return {row.name: row for row in decode_summary(document).rows}


def read_report(folder: Path, name: str) -> Report:
    return decode_report((folder / "reports" / f"{name}.json").read_bytes())


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("batch")
    write(folder / "class/ada/hw.ipynb", *RIGHT)
    write(folder / "class/ben/hw.ipynb", *WRONG)
    write(folder / "class/cem/hw.ipynb", *FAILING)
    return folder


@pytest.fixture(scope="module")
def done(folder: Path) -> subprocess.CompletedProcess[str]:
    return run(folder, "--seed", "11")


class TestClass:
    """A class of three, one of them in trouble."""

    def test_all_were_graded(self, done: subprocess.CompletedProcess[str], folder: Path) -> None:
        assert 0 == done.returncode, done.stderr
        scores = {name: (row.score, row.graded) for name, row in rows(folder).items()}
        assert {"ada/hw": (10, True), "ben/hw": (4, True), "cem/hw": (0, True)} == scores

    @pytest.mark.usefixtures("done")
    def test_each_has_a_report_with_the_same_hidden_inputs(self, folder: Path) -> None:
        reports = [read_report(folder, f"{name}/hw") for name in ("ada", "ben", "cem")]
        assert [11, 11, 11] == [report.seed for report in reports]
        assert [10, 4, 0] == [report.score for report in reports]
        assert ["data", "notebook", "parts"] == list(reports[0].duration.stages)

    def test_the_overview_is_printed(self, done: subprocess.CompletedProcess[str]) -> None:
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        assert "ada/hw small 10 of 10" in lines
        assert "cem/hw small 0 of 10 code cell 1 raised ZeroDivisionError" in lines
        assert "3 submissions: 3 graded." in lines

    def test_without_a_terminal_there_is_a_line_for_each(
        self, done: subprocess.CompletedProcess[str]
    ) -> None:
        slow = "; being graded: "  # of a machine on which one takes half a minute
        lines = [each for each in done.stderr.splitlines() if slow not in each]
        assert 3 == len(lines)
        assert [f"graded {count} of 3" for count in (1, 2, 3)] == [line[:13] for line in lines]
        assert any(line.endswith(": ada/hw: 10 of 10") for line in lines)

    @pytest.mark.usefixtures("done")
    def test_pages_are_written_on_demand_also_of_what_was_kept(self, folder: Path) -> None:
        assert [] == list(folder.rglob("*.html"))
        assert 0 == run(folder, "--html").returncode
        pages = {path.parent.name: path.read_text() for path in folder.rglob("reports/*/hw.html")}
        assert {"ada", "ben", "cem"} == set(pages)
        title = r"<title>ada – 10 of 10 points – hw\.ipynb – \d{4}-\d\d-\d\d</title>"
        assert re.search(title, pages["ada"])
        assert "ZeroDivisionError" in pages["cem"]

    @pytest.mark.usefixtures("done")
    def test_a_second_run_keeps_them_and_again_does_not(self, folder: Path) -> None:
        before = read_report(folder, "ada/hw")
        kept = run(folder)
        assert (0, "3 of 3 were graded before.\n") == (kept.returncode, kept.stderr)
        assert before == read_report(folder, "ada/hw")
        again = run(folder, "--again", "--seed", "12")
        assert 0 == again.returncode
        assert 12 == read_report(folder, "ada/hw").seed


def test_a_notebook_of_earlier_years_is_refused_where_only_todays_are_accepted(
    tmp_path: Path,
) -> None:
    write(tmp_path / "class/ada.ipynb", "from tvm.script import tir as T", *RIGHT)
    refused = run(tmp_path, "--dialect", "current")
    assert 2 == refused.returncode
    report = read_report(tmp_path, "ada")
    assert (0, ()) == (report.max_score, report.parts)
    assert "code cell 1, line 1 has `tvm.script.tir`" in report.notes[0].english


def test_one_that_cannot_be_graded_makes_the_exit_code_2(tmp_path: Path) -> None:
    write(tmp_path / "class/ada.ipynb", *FAILING)
    (tmp_path / "class/ben.ipynb").write_text("no notebook")
    done = run(tmp_path)
    assert 2 == done.returncode
    assert "2 submissions: 1 graded; 1 could not be graded." in done.stdout.splitlines()
    assert rows(tmp_path)["ben"].noticed.english.startswith(
        "not graded: ben.ipynb cannot be graded"
    )
    assert "" == read_report(tmp_path, "ben").assignment.slug


def test_what_decides_a_grade_decides_whether_it_is_kept(tmp_path: Path) -> None:
    """The file is damaged, so nothing has to be run."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class/ada.ipynb").write_text("no notebook")
    before = "1 of 1 were graded before."
    for options, kept in (
        (("--seed", "3"), False),
        (("--seed", "3"), True),
        ((), True),
        (("--seed", "4"), False),
        (("--seed", "4", "--sandbox", "none"), False),
        (("--seed", "4", "--assignment", "trio"), False),
    ):
        done = run(tmp_path, *("--assignment", "small"), *options)
        assert kept == (before in done.stderr), (options, done.stderr)


def test_assignments_are_named_and_a_mixture_is_warned_of(tmp_path: Path) -> None:
    for name, slug in (("ada", "small"), ("ben", "small"), ("cem", "tight")):
        write(tmp_path / f"class/{name}.ipynb", *FAILING, assignment=slug)
    done = run(tmp_path)
    assert "small (2), tight (1)" in done.stdout
    assert "cem is tight, according to its metadata." in " ".join(done.stdout.split())
    found = [(row.assignment, row.chosen_by) for row in rows(tmp_path).values()]
    assert [("small", "metadata"), ("small", "metadata"), ("tight", "metadata")] == found
    demanded = run(tmp_path, "--assignment", "small")
    assert "mixed" not in demanded.stdout
    assert {("small", "command")} == {
        (row.assignment, row.chosen_by) for row in rows(tmp_path).values()
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--assignment", "nothing"), "There is no assignment called 'nothing' in /"),
        (("--assignment", "nothing", "--course", "."), "assignment called 'nothing' in /"),
        (("--course", "/nowhere"), "No assignment was found."),
    ],
)
def test_what_is_wrong_for_all_is_said_once(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    write(tmp_path / "class/ada.ipynb", *FAILING)
    done = run(tmp_path, *options)
    assert 2 == done.returncode
    assert message in done.stderr
    assert [] == list((tmp_path / "reports").iterdir())


@pytest.mark.parametrize(
    ("holds", "what_to_do"),
    [
        ("nothing", "Check --data"),
        ("no images", "See docs/data.md for the files that it needs"),
        ("half of them", "Replace the file"),
    ],
)
def test_data_that_no_submission_can_be_graded_with_are_refused_once(
    holds: str, what_to_do: str, tmp_path: Path
) -> None:
    write(tmp_path / "class" / "ada" / "hw.ipynb", *RIGHT, assignment="images")
    data = tmp_path / "data"
    images = data / "FashionMNIST" / "raw" / "t10k-images-idx3-ubyte"
    if holds != "nothing":
        images.parent.mkdir(parents=True)
    if holds == "half of them":
        images.write_bytes(b"\0\0\x08\x03")
        images.with_name("t10k-labels-idx1-ubyte").write_bytes(b"")
    completed = run(tmp_path, "--course", str(KINDS), "--data", str(data))
    assert (2, "") == (completed.returncode, completed.stdout)
    said, hint = completed.stderr.splitlines()
    assert "grader: " in said
    assert what_to_do in hint
    assert not list((tmp_path / "reports").glob("**/*.json"))


def test_data_that_one_of_several_submissions_needs_are_refused_before_any_is_graded(
    tmp_path: Path,
) -> None:
    write(tmp_path / "class" / "ada" / "hw.ipynb", "x = 1", assignment="kinds")
    write(tmp_path / "class" / "ben" / "hw.ipynb", "x = 1", assignment="images")
    completed = run(tmp_path, "--course", str(KINDS), "--data", str(tmp_path / "nowhere"))
    assert (2, "") == (completed.returncode, completed.stdout)
    assert "There is no data folder" in completed.stderr
    assert not list((tmp_path / "reports").glob("**/*.json"))


def test_data_that_no_submission_needs_are_not_missed(tmp_path: Path) -> None:
    write(tmp_path / "class" / "ada" / "hw.ipynb", "x = 1", assignment="kinds")
    write(tmp_path / "class" / "ben" / "hw.ipynb", "x = 1", assignment="of nobody")
    (tmp_path / "class" / "cem.ipynb").write_text("no notebook")
    run(tmp_path, "--course", str(KINDS), "--data", str(tmp_path / "nowhere"))
    ada, ben, cem = (rows(tmp_path)[name] for name in ("ada/hw", "ben/hw", "cem"))
    assert (True, "kinds") == (ada.graded, ada.assignment)
    assert not ben.graded and not cem.graded
    assert "no data folder" not in ada.noticed.english + ben.noticed.english


def test_a_report_of_a_later_grader_is_replaced_only_on_demand(tmp_path: Path) -> None:
    write(tmp_path / "class/ada/hw.ipynb", *FAILING)
    report = tmp_path / "reports/ada/hw.json"
    report.parent.mkdir(parents=True)
    later = json.dumps(json.loads(encode_report(typical())) | {"schema_version": 99, "more": 1})
    report.write_text(later)
    refused = run(tmp_path)
    assert (2, later) == (refused.returncode, report.read_text())
    assert "hw.json is a report of a later version (99)" in refused.stderr
    assert 0 == run(tmp_path, "--again").returncode
    assert 0 == read_report(tmp_path, "ada/hw").score


def test_data_that_a_course_has_no_use_for_are_not_looked_at(tmp_path: Path) -> None:
    write(tmp_path / "class" / "ada" / "hw.ipynb", "x = 1")
    assert 0 == run(tmp_path, "--data", str(tmp_path / "nowhere")).returncode


def test_ctrl_c_keeps_what_is_finished_and_the_next_run_goes_on(tmp_path: Path) -> None:
    write(tmp_path / "class/ada.ipynb", *FAILING)
    write(tmp_path / "class/ben.ipynb", *ENDLESS)
    write(tmp_path / "class/cem.ipynb", *ENDLESS)
    process = subprocess.Popen(
        words(tmp_path), stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    wait_until((tmp_path / "reports/ada.json").exists)
    time.sleep(1)  # until both that are left are asleep in their cells
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, messages = process.communicate(timeout=SECONDS)
    assert 130 == process.returncode
    assert time.monotonic() - start < 15
    assert "3 submissions: 1 graded; 2 not yet graded." in messages
    assert ["ada.json", "summary.json"] == files(tmp_path / "reports")
    write(tmp_path / "class/ben.ipynb", "2 / 0")
    write(tmp_path / "class/cem.ipynb", "3 / 0")
    done = run(tmp_path)
    assert "1 of 3 were graded before." == done.stderr.splitlines()[0]
    assert [True, False, False] == [row.kept for row in rows(tmp_path).values()]


def test_a_batch_that_was_killed_goes_on_as_well(tmp_path: Path) -> None:
    write(tmp_path / "class/ada.ipynb", *FAILING)
    write(tmp_path / "class/ben.ipynb", *ENDLESS)
    process = subprocess.Popen(words(tmp_path), stderr=subprocess.DEVNULL)
    wait_until((tmp_path / "reports/ada.json").exists)
    process.kill()
    process.wait(SECONDS)
    write(tmp_path / "class/ben.ipynb", "2 / 0")
    done = run(tmp_path)
    assert 0 == done.returncode
    assert ["ada.json", "ben.json", "summary.json"] == files(tmp_path / "reports")
    assert {"ada": True, "ben": False} == {name: row.kept for name, row in rows(tmp_path).items()}


def test_pages_have_the_address_to_ask_at(tmp_path: Path) -> None:
    """As those of `grader feedback`: with what the roster calls the student, for each part."""
    small = Class(tmp_path)
    try:
        entries = tuple(small.grade(login, login.encode()) for login in ("ada", "ben"))
        store = small.store()
        for entry in entries:
            store.write(entry, small.report(entry.path.read_bytes()))
        _write_pages(entries, store, "mailto:ta@example.org", CollectedFolders())
        page = (tmp_path / "reports" / f"{entries[0].name}.html").read_text()
        part = small.assignment.part[0].id
        for about in (f"small%2C%20{part}%2C%20ada", "small%2C%20ada"):
            assert f"mailto:ta@example.org?subject={about}" in page
        assert "%2C%20ben" not in page
        _write_pages(entries, store, "", CollectedFolders())
        assert "mailto:" not in (tmp_path / "reports" / f"{entries[0].name}.html").read_text()
    finally:
        small.book.close()


def test_pages_of_what_was_collected_say_whose_and_which_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Named from the folder around the collected one, they had neither."""
    places = ("earlier/ada/1", "submissions/ada")
    for place in places:
        (tmp_path / "class" / place).mkdir(parents=True)
        (tmp_path / "class" / place / "hw.ipynb").write_text(place)
    attempts = tuple(CollectedAttempt(each, "", "a.zip") for each in places)
    ada = CollectedStudent("ada", "ada", "Ada Lovelace", {}, attempts)
    (tmp_path / "class" / MANIFEST).write_bytes(msgspec.json.encode(Collected((ada,))))
    monkeypatch.chdir(tmp_path)
    (entry,) = collect([Path("class/submissions")])
    report, store = typical(), Store(tmp_path / "reports")
    digest = hashlib.sha256(entry.path.read_bytes()).hexdigest()
    about = msgspec.structs.replace(report.submission, sha256=digest)
    store.write(entry, msgspec.structs.replace(report, submission=about))
    _write_pages([entry], store, "", CollectedFolders())
    page = (tmp_path / "reports/ada/hw.html").read_text()
    assert "Ada Lovelace" in page
    assert "attempt 2" in page


def test_who_is_in_no_roster_is_not_the_student_whom_a_class_is_called_as(tmp_path: Path) -> None:
    """The roster's `test` had the grades of all strangers that were collected into `test`."""
    folder = tmp_path / "test/submissions/kim-5"
    folder.mkdir(parents=True)
    (folder / "hw.ipynb").write_text("{}")
    attempt = CollectedAttempt("submissions/kim-5", "", "a.zip")
    kim = CollectedStudent("kim-5", "", "Kim", {}, (attempt,), doubt="unknown")
    (tmp_path / "test" / MANIFEST).write_bytes(msgspec.json.encode(Collected((kim,))))
    (entry,) = collect([tmp_path / "test/submissions"])
    assert not [*filter(None, _owner_name(CollectedFolders(), entry))]
