"""Points that a person has yet to give: in reports, renderings, lists and exports they are open."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.authoring.lint import lint
from grader.authoring.master import find_master
from grader.authoring.subject import read_subject
from grader.authoring.template import build_templates
from grader.authoring.verify import Notebooks, Verifier
from grader.course import load_course
from grader.grading.preparation import Settings
from grader.lms.handback import GradedWork, Works, grades_of
from grader.reading.submission import names_of, parse_content
from grader.release.write import encode_assignment, public_assignment
from grader.render.formats import render_as
from grader.report import Report, decode_report, encode_report
from grader.sandbox.interface import Sandbox
from grader.selfcheck.public import published
from tests.marking.factory import ASSIGNMENT, COURSE, GRADED, report_of

REPORT = report_of(b"", "An answer.", 8.5)


def rendered(name: str, report: Report = REPORT, language: str = "en") -> str:
    return render_as(name, report, "student", GRADED, language).decode()


class TestReports:
    def test_they_are_in_no_sum(self) -> None:
        assert (8.5, 10, 10) == (REPORT.score, REPORT.max_score, REPORT.open)

    def test_a_document_has_them_and_one_without_them_is_read(self) -> None:
        document = json.loads(encode_report(REPORT))
        assert [0, 6, 4] == [part["open"] for part in document["parts"]]
        assert REPORT == decode_report(encode_report(REPORT))
        for part in document["parts"]:
            del part["open"], part["answer"]
        assert 0 == decode_report(json.dumps(document).encode()).open

    @pytest.mark.parametrize("name", ["text", "markdown", "github"])
    def test_the_total_and_the_part_say_how_many(self, name: str) -> None:
        text = rendered(name)
        assert "8.5 of 10 points, 10 not marked yet" in text
        assert "6 not marked yet" in text and "4 not marked yet" in text
        assert "This part is marked by hand" in text
        assert "0 of 6" not in text and "0 of 0" not in text

    def test_the_page_does_as_well(self) -> None:
        text = rendered("html")
        assert '<p class="soft">10 not marked yet</p>' in text
        assert '<p class="points not_graded">6 not marked yet</p>' in text

    @pytest.mark.parametrize(
        ("language", "words"), [("zh", "10 分尚未批阅"), ("ko", "10점은 아직 채점되지 않음")]
    )
    def test_it_is_said_in_every_language(self, language: str, words: str) -> None:
        assert words in rendered("text", language=language)

    def test_services_get_the_points_that_are_decided(self) -> None:
        results = json.loads(rendered("gradescope"))
        assert 8.5 == results["score"] and "10 not marked yet" in results["output"]
        assert "Points 8.5/10" in rendered("annotations")
        junit = rendered("junit")
        assert 2 == junit.count("<skipped") and "6 not marked yet" in junit

    def test_a_part_without_an_answer_says_that(self) -> None:
        lacking = replace(REPORT, parts=(replace(REPORT.parts[1], answer=()),))
        assert "is marked as the answer" in rendered("markdown", lacking)

    def test_no_grade_is_handed_to_a_system_before_they_are_given(self) -> None:
        works = Works((GradedWork("ada", lambda: REPORT, None),))
        assert ([], ("ada",)) == grades_of(works)


class TestCourses:
    def test_a_template_has_the_cells_and_no_solution(self) -> None:
        templates = build_templates(COURSE, load_course(COURSE).get("written"))
        for content in templates.values():
            notebook = parse_content(content, ".ipynb")
            cells = [(names_of(cell), cell.source) for cell in notebook.cells]
            for part in ASSIGNMENT.manual:
                assert 1 == sum(part.is_answer(*cell) for cell in cells)
            assert not any("never written" in source for _, source in cells)

    def test_lint_finds_no_error_and_names_what_is_missing(self, tmp_path: Path) -> None:
        master = find_master(COURSE, "written")
        found = lint(read_subject(master, ASSIGNMENT))
        assert [] == [each for each in found if each.severity == "error"]
        text = master.read_text("utf-8").replace('tags=["answer-why"]', "")
        (tmp_path / "written.py").write_text(text, "utf-8")
        (found_one,) = [
            each.problem.english
            for each in lint(read_subject(tmp_path / "written.py", ASSIGNMENT))
            if each.severity == "error"
        ]
        assert "no cell for the answer to part why" in found_one

    def test_verify_names_parts_that_students_have_no_cell_for(
        self, tmp_path: Path, sandbox: Sandbox
    ) -> None:
        shutil.copytree(COURSE, tmp_path / "course")
        path = tmp_path / "course" / "assignments" / "written" / "assignment.toml"
        text = path.read_text("utf-8").replace('answer = ["times-plot"]', 'answer = ["nowhere"]')
        path.write_text(text, "utf-8")
        chosen = load_course(tmp_path / "course").get("written")
        notebooks = Notebooks(tmp_path / "course", chosen)
        verifier = Verifier(chosen, notebooks, Settings(sandbox, seed=7), timed=False, jobs=1)
        (problem,) = verifier.unanswerable()
        assert "no cell for the answer to part plot" in problem.english
        assert {"part": "why", "points": 6.0} in [dict(each.values) for each in verifier.notes]

    def test_a_release_has_the_parts_without_their_rubric(self) -> None:
        public = public_assignment(ASSIGNMENT)
        assert ASSIGNMENT.points == public.points
        assert [("why", ()), ("plot", ())] == [(each.id, each.item) for each in public.manual]
        text = encode_assignment(public).decode()
        assert "times-plot" in text and "Says that" not in text

    def test_a_self_check_has_none_of_them(self) -> None:
        own = published(ASSIGNMENT)
        assert ((), 10) == (own.manual, own.points)


class TestNotebooks:
    """What of a notebook names its cells."""

    @staticmethod
    def names(**cell: object) -> tuple[str, ...]:
        code = {"cell_type": "code", "source": "x"}
        text = {"cell_type": "markdown", "source": "", **cell}
        content = json.dumps({"nbformat": 4, "metadata": {}, "cells": [code, text]}).encode()
        return names_of(parse_content(content, ".ipynb").cells[1])

    def test_its_id_and_its_tags_are_kept(self) -> None:
        metadata = {"tags": ["answer-why", "skip-execution"], "other": {"tags": ["no"]}}
        assert ("c1", "answer-why", "skip-execution") == self.names(id="c1", metadata=metadata)

    @pytest.mark.parametrize(
        ("cell", "names"),
        [
            ({}, ()),
            ({"id": 7, "metadata": {"tags": "answer"}}, ()),
            ({"id": "x" * 101, "metadata": []}, ()),
            ({"id": "c", "metadata": {"tags": [1, None, "", "a", {}]}}, ("c", "a")),
            (
                {"metadata": {"tags": [f"t{n}" for n in range(20)]}},
                tuple(f"t{n}" for n in range(8)),
            ),
            ({"metadata": {"tags": ["x" * 100] * 100}}, ()),
        ],
    )
    def test_nothing_is_that_is_no_name_or_too_much(
        self, cell: dict[str, object], names: tuple[str, ...]
    ) -> None:
        assert names == self.names(**cell)

    def test_what_only_pythons_reader_takes_has_them_too(self) -> None:
        content = (
            b'{"cells": [{"cell_type": "code", "source": "x", "id": "c", "metadata":'
            b' {"tags": ["a"], "n": NaN}}], "metadata": {}}'
        )
        assert ("c", "a") == names_of(parse_content(content, ".ipynb").cells[0])
