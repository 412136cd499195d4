"""The report's JSON: it comes back as it was, and its documentation says what it is."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.language import foreign
from grader.report import Report, decode_report, encode_report, ungraded_report
from tests import sample_reports

ROOT = Path(__file__).parents[1]
SCHEMA = ROOT / "docs" / "report.schema.json"
PAGE = ROOT / "docs" / "report.md"

SAMPLES = {
    "typical": sample_reports.typical(),
    "full marks": sample_reports.full_marks(),
    "nothing to grade": sample_reports.nothing_to_grade(),
    "wide characters": sample_reports.korean_and_chinese(),
    "ungraded": ungraded_report(
        "a.ipynb", foreign("No file."), sample_reports.typical().environment
    ),
}


@pytest.fixture(params=SAMPLES.values(), ids=SAMPLES.keys())
def report(request: pytest.FixtureRequest) -> Report:
    return request.param


class TestDocument:
    """Writing and reading."""

    def test_a_report_comes_back_as_it_was(self, report: Report) -> None:
        assert report == decode_report(encode_report(report))

    def test_it_is_indented_text_that_ends_in_a_newline(self, report: Report) -> None:
        document = encode_report(report)
        assert document.startswith(b'{\n  "score": ')
        assert document.endswith(b"}\n")

    def test_a_report_follows_the_published_schema(self, report: Report) -> None:
        schema = json.loads(SCHEMA.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(json.loads(encode_report(report)), schema)

    @pytest.mark.parametrize("change", [{"extra": 1}, {"score": None}, {"schema_version": 1}])
    def test_another_document_is_refused_by_the_reader_and_by_the_schema(
        self, change: dict[str, object]
    ) -> None:
        document = json.loads(encode_report(sample_reports.typical())) | change
        with pytest.raises(msgspec.ValidationError):
            decode_report(json.dumps(document).encode())
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(document, json.loads(SCHEMA.read_text()))

    @given(st.text(st.characters()))
    def test_any_text_in_a_report_can_be_written_and_read(self, text: str) -> None:
        """Also half of a surrogate pair, as in a file name that is no UTF-8."""
        report = msgspec.structs.replace(sample_reports.typical(), notes=(foreign(text),))
        back = decode_report(encode_report(report))
        assert (foreign(text.encode("utf-8", "replace").decode()),) == back.notes

    def test_a_hostile_report_can_be_written_and_read(self) -> None:
        report = sample_reports.hostile()
        back = decode_report(encode_report(report))
        assert back.parts[0].title.english == report.parts[0].title.english.replace("\ud800", "?")
        assert back.timing is not None


class TestDocumentation:
    """docs/report.md and docs/report.schema.json are made from, and checked against, the types."""

    def test_the_schema_is_fresh(self) -> None:
        """If this fails: python tools/make_report_schema.py"""
        tool = runpy.run_path(str(ROOT / "tools" / "make_report_schema.py"))
        assert tool["report_schema"]().decode() == SCHEMA.read_text()

    def test_every_field_has_its_row_in_the_page(self) -> None:
        rows = re.findall(r"^\* (`[^:]*):", PAGE.read_text(), re.MULTILINE)
        documented = set(re.findall(r"`(\w+)`", " ".join(rows)))
        definitions = json.loads(SCHEMA.read_text())["$defs"].values()
        fields = {name for each in definitions for name in each["properties"]}
        assert fields - documented == set()

    def test_every_verdict_is_explained(self) -> None:
        definitions = json.loads(SCHEMA.read_text())["$defs"]
        verdicts = definitions["Check"]["properties"]["verdict"]["enum"]
        assert all(f"| `{verdict}` |" in PAGE.read_text() for verdict in verdicts)

    def test_the_example_is_a_report(self) -> None:
        example = PAGE.read_text().split("```json\n")[1].split("```")[0]
        assert decode_report(example.encode()).score == 7.5
        jsonschema.validate(json.loads(example), json.loads(SCHEMA.read_text()))
