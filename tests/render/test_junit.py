"""The report as JUnit XML: as junit-10.xsd of Jenkins' xUnit plugin wants it, and truthful.

`RULES` and `TIME` say in Python what that schema says of elements, attributes and their order:
https://github.com/jenkinsci/xunit-plugin, types/model/xsd/junit-10.xsd.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple
from xml.etree import ElementTree

import msgspec
import pytest

from grader.language import LANGUAGES, foreign
from grader.render.junit import render_junit
from grader.report import Check, Environment, Report, ungraded_report
from tests import sample_reports
from tests.render.foreign import HARMFUL, everywhere

ENVIRONMENT = Environment("3.11.7", "Some processor", 4, {})
TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?")
"""Seconds, as Surefire writes them."""


class Rule(NamedTuple):
    """What an element has to have, and what it can have; whether text may stand in it."""

    required: set[str]
    optional: set[str]
    children: set[str]
    has_text: bool = False


_OUTCOME = Rule(set(), {"type", "message"}, set(), has_text=True)
_OUTPUT = Rule(set(), set(), set(), has_text=True)
RULES = {
    "testsuites": Rule(set(), {"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": Rule(
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log"},
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
    ),
    "properties": Rule(set(), set(), {"property"}),
    "property": Rule({"name", "value"}, set(), set()),
    "testcase": Rule(
        {"name"},
        {"time", "classname", "group"},
        {"skipped", "error", "failure", "system-out", "system-err"},
    ),
    "skipped": _OUTCOME,
    "error": _OUTCOME,
    "failure": _OUTCOME,
    "system-out": _OUTPUT,
    "system-err": _OUTPUT,
}


def parsed(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(render_junit(report))


def check_rules(root: ElementTree.Element) -> None:
    """Assert that a document is as the schema wants it."""
    assert "testsuites" == root.tag
    for element in root.iter():
        rule, names = RULES[element.tag], set(element.attrib)
        assert rule.required <= names <= rule.required | rule.optional, element.tag
        assert {child.tag for child in element} <= rule.children
        assert rule.has_text or not (element.text or "").strip()
        assert TIME.fullmatch(element.get("time", "0"))


def with_checks(*checks: Check) -> Report:
    """A report of one part with these checks, in which no cell failed."""
    report = sample_reports.typical()
    part = msgspec.structs.replace(report.parts[0], checks=checks)
    return msgspec.structs.replace(report, parts=(part,), problems=())


REPORTS = [
    sample_reports.typical(),
    sample_reports.full_marks(),
    sample_reports.nothing_to_grade(),
    sample_reports.korean_and_chinese(),
    sample_reports.hostile(),
    ungraded_report("broken.ipynb", foreign("The file is not a notebook."), ENVIRONMENT),
]


class TestFormat:
    """What readers of the format rely on."""

    @pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
    def test_it_is_as_the_schema_wants_it(self, report: Report) -> None:
        check_rules(parsed(report))

    def test_no_foreign_text_makes_it_anything_else(self, subtests: pytest.Subtests) -> None:
        for harm in HARMFUL:
            for language in LANGUAGES:
                with subtests.test(language, harm=harm):
                    check_rules(parsed(everywhere(harm, language)))

    def test_it_has_only_characters_that_xml_allows(self, subtests: pytest.Subtests) -> None:
        """Section 2.2 of XML 1.0; not every parser refuses the others."""
        for harm in HARMFUL:
            with subtests.test(harm=harm):
                allowed = ((0x20, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF))
                for character in set(render_junit(everywhere(harm)).decode()) - set("\t\n\r"):
                    assert any(first <= ord(character) <= last for first, last in allowed)

    def test_elements_are_as_many_as_with_harmless_text(self, subtests: pytest.Subtests) -> None:
        for harm in HARMFUL:
            with subtests.test(harm=harm):
                harmless = [element.tag for element in parsed(everywhere("word")).iter()]
                assert harmless == [element.tag for element in parsed(everywhere(harm)).iter()]

    @pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
    def test_counts_are_those_of_the_cases(self, report: Report) -> None:
        root = parsed(report)
        for element in (root, *root.iter("testsuite")):
            outcomes = Counter(child.tag for case in element.iter("testcase") for child in case)
            assert len(list(element.iter("testcase"))) == int(element.get("tests", ""))
            assert outcomes["failure"] == int(element.get("failures", ""))
            assert outcomes["error"] == int(element.get("errors", ""))
            assert outcomes["skipped"] == int(element.get("skipped", outcomes["skipped"]))

    @pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
    def test_every_case_has_a_name_of_its_own(self, report: Report) -> None:
        cases = [
            (each.get("classname"), each.get("name")) for each in parsed(report).iter("testcase")
        ]
        assert len(set(cases)) == len(cases)

    def test_checks_with_the_same_title_are_numbered(self) -> None:
        first = Check("a", foreign("Same"), 1.0, 1.0, "passed", foreign("Right."))
        cases = parsed(with_checks(first, msgspec.structs.replace(first, id="b"))).iter("testcase")
        assert ["Same (1)", "Same (2)"] == [case.get("name") for case in cases]

    def test_it_is_utf8_and_says_so(self) -> None:
        document = render_junit(sample_reports.korean_and_chinese())
        assert document.startswith(b"<?xml version='1.0' encoding='utf-8'?>\n")
        assert "파이토치와 같은 출력".encode() in document


class TestContent:
    """What it says of a report."""

    def test_a_suite_is_a_part_and_a_case_is_a_check(self) -> None:
        suites = parsed(sample_reports.typical()).findall("testsuite")
        assert ["emit_te", "torch_extern", "schedule", "cells"] == [
            each.get("id") for each in suites
        ]
        assert "The convolution, scheduled" == suites[2].get("name")
        case = suites[2].findall("testcase")[3]
        assert ("Speed of the convolution", "e2e-conv.schedule") == (
            case.get("name"),
            case.get("classname"),
        )

    @pytest.mark.parametrize(
        ("verdict", "maximum", "outcome"),
        [
            ("passed", 2.0, "system-out"),
            ("partial", 2.0, "failure"),
            ("failed", 2.0, "failure"),
            ("failed", 0.0, "failure"),
            ("not_graded", 2.0, "error"),
            ("not_graded", 0.0, "skipped"),
        ],
    )
    def test_a_verdict_is_an_outcome(self, verdict: str, maximum: float, outcome: str) -> None:
        score = {"passed": maximum, "partial": 1.0}.get(verdict, 0.0)
        check = Check(
            "a", foreign("A"), score, maximum, verdict, foreign("Why."), foreign("Do it.")
        )
        (case,) = parsed(with_checks(check)).iter("testcase")
        assert [outcome] == [child.tag for child in case]

    @pytest.mark.parametrize("report", REPORTS, ids=range(len(REPORTS)))
    def test_a_suite_is_green_only_with_all_of_its_points(self, report: Report) -> None:
        suites = parsed(report).findall("testsuite")
        for suite, part in zip(suites, report.parts, strict=False):
            is_green = "0" == suite.get("failures") == suite.get("errors")
            assert (part.score >= part.max_score) == is_green

    def test_a_failure_has_its_reason_its_points_and_its_advice(self) -> None:
        failure = parsed(sample_reports.typical()).find("testsuite[2]/testcase[3]/failure")
        assert failure is not None
        assert ("failed", "On 4,443 of 4,443 test images") == (
            failure.get("type"),
            failure.get("message", "")[:29],
        )
        rows = (failure.text or "").split("\n")
        assert "Points: 0 of 15" == rows[0]
        assert rows[2].startswith("What to do: Add the bias")

    def test_cells_that_failed_are_errors_of_a_suite_of_their_own(self) -> None:
        suite = parsed(sample_reports.typical()).findall("testsuite")[-1]
        first, second = suite.findall("testcase")
        assert "Code cell 7, line 3" == first.get("name")
        assert "NameError" == first[0].get("type")
        assert "NameError: name 'conv_w' is not defined" == first[0].get("message")
        assert "Code cell 16" == second.get("name")

    def test_what_could_not_be_graded_is_an_error(self) -> None:
        report = ungraded_report("broken.ipynb", foreign("no notebook"), ENVIRONMENT)
        (case,) = parsed(report).iter("testcase")
        assert ("error", "no notebook") == (case[0].tag, case[0].get("message"))

    def test_properties_say_of_which_grading_it_is(self) -> None:
        suite = parsed(sample_reports.typical()).findall("testsuite")[-1]
        said = {each.get("name"): each.get("value") for each in suite.iter("property")}
        assert ("77.5", "100", "e2e-conv") == (said["score"], said["max_score"], said["assignment"])
        assert ("3.11", "2.13.0+cpu") == (said["speedup"], said["torch"])

    def test_no_seed_is_told(self) -> None:
        report = msgspec.structs.replace(sample_reports.typical(), seed=987654321)
        assert b"987654321" not in render_junit(report)

    def test_the_time_is_that_of_the_grading(self) -> None:
        assert "18.420" == parsed(sample_reports.typical()).get("time")

    def test_a_long_reason_is_cut_in_the_list_of_cases_only(self) -> None:
        check = Check("a", foreign("A"), 0.0, 1.0, "failed", foreign("word " * 200))
        (case,) = parsed(with_checks(check)).iter("testcase")
        assert len(case[0].get("message", "")) < 500
        assert 200 == (case[0].text or "").count("word")
