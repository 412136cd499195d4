"""`grader new`: what is written, and what is refused. That it is sound: test_tutorial.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.authoring.lint import lint
from grader.authoring.skeleton import make_assignment
from grader.authoring.subject import read_subject
from grader.course import load_course
from grader.errors import UsageError


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_empty_folder_becomes_a_course(tmp_path: Path) -> None:
    written = make_assignment(tmp_path, "my-layer")
    assert sorted(content(tmp_path)) == sorted(written)
    assignment = load_course(tmp_path).get("my-layer").assignment
    assert ("My layer", ["kernel", "graph"]) == (
        assignment.title,
        [part.id for part in assignment.part],
    )


def test_a_second_one_leaves_the_first_as_it_was(tmp_path: Path) -> None:
    make_assignment(tmp_path, "one")
    before = content(tmp_path)
    make_assignment(tmp_path, "two")
    assert {"one", "two"} == set(load_course(tmp_path).assignments)
    assert before.items() <= content(tmp_path).items()


@pytest.mark.parametrize(
    "taken", ["assignments/x/oracle.py", "reference/x.py", "templates/x.zh.ipynb"]
)
def test_nothing_is_written_over(tmp_path: Path, taken: str) -> None:
    path = tmp_path / taken
    path.parent.mkdir(parents=True)
    path.write_text("mine")
    with pytest.raises(UsageError, match="is there already"):
        make_assignment(tmp_path, "x")
    assert {path: b"mine"} == content(tmp_path)


@pytest.mark.parametrize("slug", ["", "Layer", "1st", "../up", "a b", "a/b", "ä", "x\n"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path: Path, slug: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name"):
        make_assignment(tmp_path, slug)
    assert {} == content(tmp_path)


def test_its_master_has_nothing_to_mend(tmp_path: Path) -> None:
    make_assignment(tmp_path, "x")
    assignment = load_course(tmp_path).get("x").assignment
    assert [] == list(lint(read_subject(tmp_path / "reference" / "x.py", assignment)))
