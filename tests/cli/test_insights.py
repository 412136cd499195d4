"""`grader insights` and `grader grades stats`, of a folder of reports and of a gradebook."""

from __future__ import annotations

import io
import json
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from plant_class import make_class
from rich.console import Console

from grader.cli import comparing
from grader.cli.class_reports import ClassOptions
from grader.cli.comparing import SimilarOptions, run_similar
from grader.cli.insights import run_insights
from grader.errors import UsageError
from grader.language import foreign
from grader.lms.collect import MANIFEST, Collected, CollectedStudent
from grader.report import Cell, encode_report, ungraded_report
from grader.similarity.pairs import Similarities
from tests.cli.test_grades import folder as folder
from tests.cli.test_grades import found, refused, said
from tests.gradebook.factory import SLUG
from tests.insights.classes import report
from tests.render.html.reading import read
from tests.sample_reports import typical


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A folder as a batch writes it: two mistakes, somebody with two reports, and one ungraded."""
    place = tmp_path / "reports"
    made = {
        "ada/hw": report("bias_missing", score=60.0),
        "ada/later": report("zeros", score=20.0),
        "olga/hw": report("bias_missing", score=70.0),
        "kim/hw": ungraded_report("hw.ipynb", foreign("It is damaged."), typical().environment),
    }
    for name, each in made.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.json").write_bytes(encode_report(each))
    (place / "summary.json").write_text("{}")
    return place


def run(reports: Path, output: Path, **options: bool) -> None:
    found = ClassOptions(reports=reports)
    run_insights(found, output, Console(quiet=True), "en", **options)


def test_a_folder_becomes_a_page_json_a_table_and_pages(reports: Path, tmp_path: Path) -> None:
    run(reports, tmp_path / "out")
    document = json.loads((tmp_path / "out" / "e2e-conv.json").read_text())
    assert [("bias_missing", ["ada", "olga"])] == [
        (row["mistake"], row["students"]) for row in document["mistakes"]
    ]
    assert {"ada": ["several"], "kim": ["ungraded"]} == {
        row["student"]: [each["kind"] for each in row["reasons"]] for row in document["concerns"]
    }
    page = read((tmp_path / "out" / "e2e-conv.html").read_bytes())
    pages = [href for href in page.values("href") if not href.startswith("#")]
    assert ["e2e-conv/ada/hw.html", "e2e-conv/olga/hw.html"] == pages
    assert all((tmp_path / "out" / each).is_file() for each in pages)
    assert (tmp_path / "out" / "e2e-conv.csv").read_bytes().startswith(b"figure,")


def test_pages_of_students_of_one_name_have_their_ids_as_the_class_page_has(
    reports: Path, tmp_path: Path
) -> None:
    """What is collected says who they are; who was not collected is called by the folder."""
    names = {"ada": "Wei Chen", "kim": "Wei Chen", "olga": "Olga Kim"}
    students = tuple(CollectedStudent(id, id, name, {}, ()) for id, name in names.items())
    (tmp_path / MANIFEST).write_bytes(msgspec.json.encode(Collected(students)))
    found = ClassOptions(reports=reports, collected=tmp_path)
    (reports / "min.json").write_bytes(encode_report(report(score=50.0)))
    run_insights(found, tmp_path / "out", Console(quiet=True), "en")
    folder = tmp_path / "out" / "e2e-conv"
    for page, name in (
        ("ada/hw", "Wei Chen (ada)"),
        ("olga/hw", "Olga Kim"),
        ("min", "min"),
    ):
        assert f"<title>{name} – " in (folder / f"{page}.html").read_text()
    assert "Wei Chen (ada)" in (tmp_path / "out" / "e2e-conv.html").read_text()


def test_pages_that_a_batch_wrote_are_linked_and_none_is_written(
    reports: Path, tmp_path: Path
) -> None:
    (reports / "olga" / "hw.html").write_text("page")
    run(reports, tmp_path / "out", pages=False)
    page = read((tmp_path / "out" / "e2e-conv.html").read_bytes())
    pages = [href for href in page.values("href") if not href.startswith("#")]
    assert ["../reports/olga/hw.html"] == pages
    assert not (tmp_path / "out" / "e2e-conv").exists()


def test_what_is_no_folder_of_reports_is_refused(reports: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a folder of reports"):
        run(tmp_path, tmp_path / "out")
    (reports / "odd.json").write_text("{}")
    with pytest.raises(UsageError, match="is not a report"):
        run(reports, tmp_path / "out")


def test_objections_are_counted_by_part_and_state(folder: Path) -> None:
    part = found(folder, "grades", "explain", "ada", SLUG)["parts"][0]["id"]
    for text in ("Why?", "And why that?"):
        said(folder, "objections", "add", "ada", SLUG, "--part", part, text)
    said(folder, "objections", "add", "ada", SLUG, "All of it <b>wrong</b>.")
    said(folder, "objections", "answer", "1", "It is so.")
    told = said(folder, "insights", "--assignment", SLUG, "--output", "out", "--no-pages")
    assert "Objections: 2 open, 1 answered, 0 with changed points." in told
    document = json.loads((folder / "out" / f"{SLUG}.json").read_text())
    assert [("", "open", 1), (part, "open", 1), (part, "answered", 1)] == [
        (each["part"], each["state"], each["count"]) for each in document["objections"]
    ]
    assert all(["ada"] == each["students"] for each in document["objections"])
    assert f"objection,{part},open,1,1,ada" in (folder / "out" / f"{SLUG}.csv").read_text()
    page = (folder / "out" / f"{SLUG}.html").read_text("utf-8")
    assert '<section id="objections"' in page
    assert "<b>wrong" not in page


def test_a_gradebook_has_grades_attempts_and_who_handed_in_nothing(folder: Path) -> None:
    assert "1 student graded" in said(folder, "insights", "--output", "monday")
    document = json.loads((folder / "monday" / f"{SLUG}.json").read_text())
    assert ["k", "leilei", "m"] == [each["id"] for each in document["missing"]]
    assert [1, 2] == [row["number"] for row in document["attempts"]]
    assert 77.5 == document["numbers"]["median"]
    assert "Ada Lovelace" in (folder / "monday" / SLUG / "ada.html").read_text()
    assert "has no assignment" in refused(folder, "insights", "--assignment", "x", "-o", "other")


def test_stats_have_the_same_numbers(folder: Path) -> None:
    said(folder, "insights", "--output", "monday")
    document = json.loads((folder / "monday" / f"{SLUG}.json").read_text())
    stats = found(folder, "grades", "stats", SLUG)[SLUG]
    numbers = stats["insights"]
    assert document["numbers"] == {name: float(stats[name]) for name in document["numbers"]}
    for each in (*document["students"], *numbers["students"]):
        each["person"].pop("page")
    assert document == numbers
    told = said(folder, "grades", "stats", SLUG)
    assert "Common mistakes" in told or "Passed" in told
    assert "insights" not in found(folder, "grades", "stats")[SLUG]


def test_works_that_are_alike_become_a_page_and_json(tmp_path: Path) -> None:
    place, made = tmp_path / "reports", make_class(12, 3)
    for each in made.students:
        (place / each.id).mkdir(parents=True)
        whole = encode_report(replace(typical(), cells=each.cells))
        (place / each.id / "hw.json").write_bytes(whole)
    (place / "summary.json").write_text("{}")
    options = SimilarOptions(ClassOptions(reports=place), tmp_path / "out")
    run_similar(options, Console(quiet=True))
    document = json.loads((tmp_path / "out" / "e2e-conv-similar.json").read_text())
    pairs = {frozenset((each["one"], each["other"])) for each in document["pairs"]}
    assert made.copies.keys() == pairs
    page = (tmp_path / "out" / "e2e-conv-similar.html").read_bytes()
    linked = {href for href in read(page).values("href") if not href.startswith("#")}
    assert {f"e2e-conv/{id}/hw.html" for pair in made.copies for id in pair} == linked
    assert all((tmp_path / "out" / each).is_file() for each in linked)
    assert "not a verdict" in page.decode()


def test_what_is_given_as_a_text_makes_nobody_alike(tmp_path: Path) -> None:
    source = "def load(path):\n    return {name: np.load(path)[name] for name in np.load(path)}"
    for name in ("ada", "olga"):
        (tmp_path / "reports" / name).mkdir(parents=True)
        found = replace(typical(), cells=(Cell("code", source, 1),), parts=typical().parts[:1])
        (tmp_path / "reports" / name / "hw.json").write_bytes(encode_report(found))
    (tmp_path / "reports" / "summary.json").write_text("{}")
    (tmp_path / "text.py").write_text(source)
    for given, count in (((), 1), ((tmp_path / "text.py",), 0)):
        options = SimilarOptions(
            ClassOptions(reports=tmp_path / "reports"), tmp_path / "out", given, language="en"
        )
        run_similar(options, Console(quiet=True))
        document = json.loads((tmp_path / "out" / "e2e-conv-similar.json").read_text())
        assert count == len(document["pairs"])


def test_it_is_said_how_many_works_could_not_be_compared() -> None:
    found = Similarities("hw", 3, (), (), ("ada", "ben"))
    output = Console(file=io.StringIO(), width=200)
    comparing._tell(output, found, Path("hw.html"))
    assert isinstance(output.file, io.StringIO)
    assert "hw: 2 submissions could not be compared" in output.file.getvalue()
    assert "ada, ben." in output.file.getvalue()
