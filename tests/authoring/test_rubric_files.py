"""Rubrics as files: out and in again they are the same, and nothing else of an assignment moves."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from grader.authoring.rubric_files import (
    LARGEST,
    export_rubrics,
    read_rubrics,
    rubric_tables,
    with_rubrics,
    write_rubrics,
)
from grader.course import CourseAssignment, load_course
from grader.errors import CourseError, GraderError, UsageError
from grader.rubric import ManualTable, RubricItem
from tests.marking.factory import ASSIGNMENT, COURSE

WHY, PLOT = ASSIGNMENT.manual
ODD = 'Say "why"; -1 for none\n=1+1 \\ \t<b> [[manual]] # 李'


@pytest.fixture
def chosen(tmp_path: Path) -> CourseAssignment:
    shutil.copytree(COURSE, tmp_path / "course")
    return load_course(tmp_path / "course").get("written")


def toml_of(chosen: CourseAssignment) -> str:
    return (chosen.folder / "assignment.toml").read_bytes().decode()


def exported(folder: Path, name: str, assignment: object = ASSIGNMENT) -> Path:
    path = folder / name
    path.write_bytes(export_rubrics(assignment, as_csv=name.endswith("csv")))  # type: ignore
    return path


@pytest.mark.parametrize("name", ["rubric.toml", "rubric.csv"])
def test_what_was_exported_is_the_same_when_it_is_imported(tmp_path: Path, name: str) -> None:
    odd = replace(WHY, question=ODD, item=tuple(replace(e, text=ODD + e.id) for e in WHY.item))
    for assignment in (ASSIGNMENT, replace(ASSIGNMENT, manual=(odd, PLOT))):
        path = exported(tmp_path, name, assignment)
        assert assignment.manual == read_rubrics(path, assignment)


@given(text=st.text(min_size=1, max_size=30))
def test_any_text_comes_back_from_both(text: str) -> None:
    import tempfile

    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    if not text.strip() or "\r" in text:
        return
    item = replace(PLOT.item[0], text=text, texts={"zh": text})
    assignment = replace(ASSIGNMENT, manual=(WHY, replace(PLOT, item=(item, PLOT.item[1]))))
    with tempfile.TemporaryDirectory() as folder:
        for name in ("rubric.toml", "rubric.csv"):
            path = exported(Path(folder), name, assignment)
            assert assignment.manual == read_rubrics(path, assignment), name


def test_all_else_of_the_assignment_stays_to_the_byte(chosen: CourseAssignment) -> None:
    before = toml_of(chosen)
    write_rubrics(chosen, (replace(WHY, title="Other", question=ODD), PLOT))
    after = toml_of(chosen)
    assert before.partition("[[manual]]")[0] == after.partition("[[manual]]")[0]
    assert ("Other", ODD) == (
        load_course(chosen.folder.parents[1]).get("written").assignment.manual[0].title,
        load_course(chosen.folder.parents[1]).get("written").assignment.manual[0].question,
    )
    write_rubrics(chosen, (WHY, PLOT))
    write_rubrics(chosen, (WHY, PLOT))
    assert (
        rubric_tables((WHY, PLOT))
        == toml_of(chosen).partition("[oracle]")[2][-len(rubric_tables((WHY, PLOT))) :]
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1\n", "a = 1\n\nNEW\n"),
        ("a = 1", "a = 1\n\nNEW\n"),
        ("a = 1\n\n[[manual]]\nb = 2\n", "a = 1\n\nNEW\n"),
        (
            "a = 1\n# mine\n[[manual]]\n[[manual.item]]\nc = 1\n\n# of late\n[late]\nd = 1\n",
            "a = 1\n# mine\n\nNEW\n\n# of late\n[late]\nd = 1\n",
        ),
        ("[[manual]]\n\n[ late ]\n", "NEW\n\n[ late ]\n"),
        ("[x]\n[[manual-other]]\n", "[x]\n[[manual-other]]\n\nNEW\n"),
    ],
)
def test_tables_stand_where_the_old_ones_stood(text: str, expected: str, end: str) -> None:
    wanted = expected.replace("\n", end)
    found = with_rubrics(text.replace("\n", end), "NEW\n")
    assert wanted == (found if end in text.replace("\n", end) else found.replace("\n", end))


@pytest.mark.parametrize("place", ["apart", "in a text"])
def test_tables_that_cannot_be_told_apart_are_refused(chosen: CourseAssignment, place: str) -> None:
    path = chosen.folder / "assignment.toml"
    text = toml_of(chosen)
    if place == "apart":
        head, middle, tail = text.partition("[[part]]")
        first, second = (
            tail.split("[[manual]]", 1)[0],
            "[[manual]]" + tail.split("[[manual]]", 1)[1],
        )
        one, other = second.split('[[manual]]\nid = "plot"')
        text = head + one + middle + first + '[[manual]]\nid = "plot"' + other
    else:
        text = text.replace('title = "A layer', 'title = """\n[[manual]]\n"""\n#', 1)
    path.write_text(text)
    chosen = load_course(chosen.folder.parents[1]).get("written")
    before = toml_of(chosen)
    with pytest.raises(GraderError):
        write_rubrics(chosen, (replace(WHY, title="Other"), PLOT))
    assert before == toml_of(chosen)


def test_points_that_do_not_fit_are_refused(chosen: CourseAssignment) -> None:
    before = toml_of(chosen)
    item = RubricItem(id="more", text="More", points=9)
    with pytest.raises(CourseError, match="points"):
        write_rubrics(chosen, (replace(WHY, points=9, item=(item,)), PLOT))
    assert before == toml_of(chosen)


def test_a_part_in_the_file_replaces_that_of_its_name_and_none_is_removed(tmp_path: Path) -> None:
    other = replace(PLOT, title="Plot")
    new = ManualTable(id="new", title="New", points=1)
    path = tmp_path / "rubric.toml"
    path.write_text(rubric_tables((new, other)))
    assert (WHY, other, new) == read_rubrics(path, ASSIGNMENT)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.toml", b"", "rubric"),
        ("a.toml", b"[[manual]]\nid = 1\n", "a.toml:2: it is not valid"),
        ("a.toml", b"\xff", "it is not UTF-8 text"),
        ("a.toml", b"[[other]]\n", "it is not valid"),
        ("a.toml", b"manual = " + b"[" * 50_000, "it is not valid"),
        ("a.toml", b'[[manual]]\nid="a"\ntitle="A"\npoints=nan\n', "it is not valid"),
        ("a.csv", b"part,id,text,points\nwhy,a,A,nan\n", "a.csv:2: it is not valid"),
        ("a.csv", b"part,id,text,points\nwhy,a,A,1e400\n", "a.csv:2: it is not valid"),
        ("a.csv", b"part,id,text,points\nwhy,a,A,x\n", "a.csv:2: it is not valid"),
        ("a.csv", b"part,id,text,points,share\nwhy,a,A,1,1\n", "a.csv:2: it is not valid"),
        ("a.csv", b"part,id,text,points\nnone,a,A,1\n", "a.csv:2: it is not valid: there is no"),
        ("a.csv", b"part,id,text,points\nwhy,A b,A,1\n", "a.csv:2: it is not valid"),
        ("a.csv", b"part,id,text,points\nwhy,a,A,6\nwhy,a,B,1\n", "a.csv: it is not valid"),
        ("a.csv", b"part,id,text,points\nwhy,a,A,1\n", "a.csv: it is not valid"),
        ("a.csv", b"id,text\na,A\n", "a.csv has no column part."),
        ("a.toml", b"#" * (LARGEST + 1), "a.toml is larger than 1 MB."),
        ("a.csv", b"#" * (LARGEST + 1), "a.csv is larger than 1 MB."),
        (
            "a.csv",
            b"part,id,text,points\n" + b"".join(b"why,i%d,A,6\n" % at for at in range(201)),
            "at most 200 items",
        ),
    ],
)
def test_what_is_no_rubric_is_refused(tmp_path: Path, name: str, content: bytes, told: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises((CourseError, UsageError)) as caught:
        read_rubrics(path, ASSIGNMENT)
    assert told in str(caught.value) or (told == "rubric" and "manual" in str(caught.value))
