"""Variants: the same assignment under another rubric, asked for by one word."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest

from grader.assignment_files import merged
from grader.course import choose_assignment, load_course, who_chose
from grader.errors import CourseError, UsageError
from grader.language import NOTHING
from grader.reading.submission import SubmissionFile
from tests.our_course import our_course

ROOT = Path(__file__).parents[1]
COURSE = our_course()
VARIANTS = ("e2e-conv-course2022", "tensorir-course2022")


def submission(slug: str | None = None, code: str = "") -> SubmissionFile:
    metadata = {} if slug is None else {"grader": {"assignment": slug}}
    cells = [nbformat.v4.new_code_cell(code)]
    return SubmissionFile("a.ipynb", "", nbformat.v4.new_notebook(cells=cells, metadata=metadata))


class TestMerging:
    """What comes of a file and of what is different."""

    def test_tables_are_merged_key_by_key(self) -> None:
        assert {"a": {"b": 1, "c": 3}} == merged({"a": {"b": 1, "c": 2}}, {"a": {"c": 3}})

    def test_tables_of_a_list_are_known_by_their_ids(self) -> None:
        originals = [{"id": "x", "n": 1}, {"id": "y"}]
        changes = [{"id": "y", "remove": True}, {"id": "x", "m": 2}, {"id": "z"}]
        assert {"a": [{"id": "x", "n": 1, "m": 2}, {"id": "z"}]} == merged(
            {"a": originals}, {"a": changes}
        )
        assert [{"id": "x", "n": 1}, {"id": "y"}] == originals

    def test_all_else_is_replaced(self) -> None:
        assert {"a": [3], "b": 1} == merged({"a": [1, 2], "b": 1}, {"a": [3]})


class TestLoading:
    @pytest.mark.parametrize("slug", VARIANTS)
    def test_it_has_the_parts_of_its_assignment_and_nothing_for_speed(self, slug: str) -> None:
        variant = COURSE.get(slug).assignment
        original = COURSE.get(slug.removesuffix("-course2022")).assignment
        assert slug == variant.slug
        assert {part.id: part.points for part in original.part} == {
            part.id: part.points for part in variant.part
        }
        assert "speed" not in {check.kind for part in variant.part for check in part.check}
        assert "speed" in {check.kind for part in original.part for check in part.check}

    def test_files_of_its_own_stand_in_place_of_the_assignment_s(self) -> None:
        original, variant = COURSE.get("tensorir"), COURSE.get("tensorir-course2022")
        assert original.workload() != variant.workload()
        assert original.given() == variant.given()
        assert original.load_oracle().__file__ == variant.load_oracle().__file__

    def test_what_is_wrong_in_it_is_told_with_its_path(self, tmp_path: Path) -> None:
        shutil.copytree(ROOT / "assignments", tmp_path / "assignments")
        file = tmp_path / "assignments/tensorir/variants/course2022/assignment.toml"
        text = file.read_text(encoding="utf-8")
        for old, new, told in (
            ("points = 35", "points = 34", "points"),
            ('id = "speed"', 'id = "sped"', "'sped'"),
            ("version = 1", "versions = 1", "versions"),
        ):
            file.write_text(text.replace(old, new), encoding="utf-8")
            with pytest.raises(CourseError) as caught:
                load_course(tmp_path)
            assert f"{file}" in caught.value.message.english
            assert told in caught.value.message.english


class TestChoosing:
    def test_one_word_is_enough_for_whatever_was_handed_in(self) -> None:
        for slug in ("tensorir", "e2e-conv"):
            chosen, note = choose_assignment(COURSE, submission(slug), "course2022")
            assert (f"{slug}-course2022", NOTHING) == (chosen.assignment.slug, note)

    def test_entry_points_tell_which_assignment_it_is(self) -> None:
        handed_in = submission(code="def create_model_via_emit_te(): ...")
        chosen, note = choose_assignment(COURSE, handed_in, "course2022")
        assert "e2e-conv-course2022" == chosen.assignment.slug
        assert "entry points" in note.english

    def test_a_slug_will_do_and_nothing_is_said_of_the_assignment_s_own(self) -> None:
        chosen, note = choose_assignment(COURSE, submission("tensorir"), "tensorir-course2022")
        assert ("tensorir-course2022", NOTHING) == (chosen.assignment.slug, note)
        who = who_chose(submission("tensorir"), chosen.assignment, "tensorir-course2022")
        assert "command" == who

    def test_of_which_assignment_a_variant_is_the_notebook_says(self) -> None:
        """A mixture's warning named the command, and metadata had chosen the easier assignment."""
        chosen, _ = choose_assignment(COURSE, submission("tensorir"), "course2022")
        who = who_chose(submission("tensorir"), chosen.assignment, "course2022")
        assert "metadata" == who
        handed_in = submission(code="def create_model_via_emit_te(): ...")
        chosen, _ = choose_assignment(COURSE, handed_in, "course2022")
        assert "entry points" == who_chose(handed_in, chosen.assignment, "course2022")

    def test_a_student_cannot_choose_one(self) -> None:
        with pytest.raises(UsageError):
            choose_assignment(COURSE, submission("tensorir-course2022"), None)
        named = submission("tensorir-course2022", "class MyAdd: ...\nclass MyBmmRelu: ...")
        assert "tensorir" == choose_assignment(COURSE, named, None)[0].assignment.slug

    def test_an_assignment_without_one_says_what_there_is(self) -> None:
        with pytest.raises(UsageError) as caught:
            choose_assignment(COURSE, submission("e2e-mlp"), "course2022")
        assert "tensorir-course2022" in caught.value.hint.english
