"""The report as JUnit XML, which services that run tests know how to show.

There is no standard; this follows junit-10.xsd of Jenkins' xUnit plugin, which GitLab and others
read too. A suite is a part and a case is a check. Whatever cost points is a failure or an error,
so that no page is green where points were lost. A last suite has the cells that failed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple
from xml.etree import ElementTree

from grader.language import Text, join
from grader.render import wording
from grader.render.findings import (
    advice,
    explanation,
    is_graded,
    is_lost,
    left_to_people,
    place_of,
)
from grader.render.speech import speaking, tell
from grader.report import CellProblem, Check, Part, Report

MESSAGE_CHARACTERS = 400
"""How much of a reason is a message; all of it is the element's text."""

_INVALID = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (fifth edition, section 2.2) does not allow in a document, escaped or not."""

Element = ElementTree.Element


class _Case(NamedTuple):
    name: str
    outcome: Literal["passed", "failure", "error", "skipped"]
    kind: str
    message: str
    text: str


def render_junit(report: Report) -> bytes:
    """Return a report as JUnit XML, in UTF-8 and in its own language."""
    with speaking(report.language):
        suites = list(_suites(report))
    total = Counter[str](case.outcome for _, cases, _ in suites for case in cases)
    root = Element("testsuites", _counts(total) | {"time": f"{report.duration.total:.3f}"})
    root.set("name", _valid(report.assignment.slug or wording.one_line(report.submission.name)))
    for (identity, name), cases, properties in suites:
        root.append(_suite(identity, name, cases, properties, report))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


_Suites = tuple[tuple[str, str], list[_Case], list[tuple[str, str]]]
"""A suite's identity and name, its cases, and its properties."""


def _suites(report: Report) -> Iterator[_Suites]:
    for part in report.parts:
        cases = [_check_case(part, check, report) for check in part.checks]
        if part.open:
            cases.append(_open_case(part, report))
        yield (part.id, wording.one_line(part.title)), cases, list(_part_properties(part))
    title = tell("failed-cells")
    cells = [_problem_case(problem, report) for problem in report.problems]
    if not is_graded(report):
        cells.append(_ungraded_case(report))
    yield ("cells", title), cells, list(_report_properties(report))


def _check_case(part: Part, check: Check, report: Report) -> _Case:
    said = [_points(check.score, check.max_score), *explanation(part, check, report)]
    message = _short(check.reason) or _points(check.score, check.max_score)
    name = wording.one_line(check.title) or check.id
    return _Case(name, _outcome(check), check.verdict, message, "\n".join(filter(None, said)))


def _open_case(part: Part, report: Report) -> _Case:
    """Return the case of points that a person has yet to give."""
    title, said = wording.one_line(part.title), left_to_people(part, report)
    return _Case(title or part.id, "skipped", "open", wording.not_marked(part.open), said)


def _outcome(check: Check) -> Literal["passed", "failure", "error", "skipped"]:
    if not is_lost(check):
        return "passed"
    if check.verdict == "not_graded":
        return "error" if check.max_score else "skipped"
    return "failure"


def _problem_case(problem: CellProblem, report: Report) -> _Case:
    place, error = place_of(problem, report), wording.one_line(problem.error)
    message = wording.plain(problem.message)
    said = f"{error}: {message}" if message else error
    text = "\n".join(filter(None, (said, advice(problem.hint))))
    return _Case(place, "error", error, _short(text), text)


def _ungraded_case(report: Report) -> _Case:
    notes = "\n".join(wording.plain(note) for note in report.notes)
    name = wording.one_line(report.submission.name)
    return _Case(name, "error", "not_graded", _short(join(*report.notes)), notes)


def _part_properties(part: Part) -> Iterator[tuple[str, str]]:
    yield "score", wording.points(part.score)
    yield "max_score", wording.points(part.max_score)
    if part.origin is not None:
        yield "origin", wording.one_line(part.origin.name)
        yield "cell", str(part.origin.cell)


def _report_properties(report: Report) -> Iterator[tuple[str, str]]:
    yield "score", wording.points(report.score)
    yield "max_score", wording.points(report.max_score)
    yield "assignment", report.assignment.slug
    yield "assignment_version", str(report.assignment.version)
    yield "sha256", report.submission.sha256
    yield "dialect", report.dialect
    yield "sandbox", report.sandbox.level
    yield "cpu", wording.one_line(report.environment.cpu)
    yield "python", report.environment.python
    yield from report.environment.packages.items()
    if report.timing is not None:
        yield "speedup", wording.factor(report.timing.speedup)
        yield "speedup_ci_low", wording.factor(report.timing.ci_low)
        yield "speedup_ci_high", wording.factor(report.timing.ci_high)


def _points(score: float, maximum: float) -> str:
    return tell("points") + ": " + wording.points_of(score, maximum) if maximum else ""


def _short(text: str | Text) -> str:
    """Return foreign text as the message that stands in a list of cases."""
    return wording.one_line(text, MESSAGE_CHARACTERS)


# --- XML ------------------------------------------------------------------------------------------


def _suite(
    identity: str,
    name: str,
    cases: list[_Case],
    properties: Iterable[tuple[str, str]],
    report: Report,
) -> Element:
    counts = Counter[str](case.outcome for case in cases)
    suite = Element("testsuite", {"name": _valid(name or identity), "id": _valid(identity)})
    suite.attrib |= _counts(counts) | {"skipped": str(counts["skipped"])}
    suite.set("file", _valid(wording.one_line(report.submission.name)))
    listed = ElementTree.SubElement(suite, "properties")
    for key, value in properties:
        ElementTree.SubElement(listed, "property", {"name": _valid(key), "value": _valid(value)})
    within = f"{report.assignment.slug or 'grader'}.{identity}"
    for case, unique in zip(cases, _unique([case.name for case in cases]), strict=True):
        suite.append(_element(case, unique, within))
    return suite


def _counts(counts: Counter[str]) -> dict[str, str]:
    return {
        "tests": str(counts.total()),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
    }


def _element(case: _Case, name: str, within: str) -> Element:
    element = Element("testcase", {"name": _valid(name), "classname": _valid(within)})
    if case.outcome == "passed":
        if case.text:
            ElementTree.SubElement(element, "system-out").text = _valid(case.text)
        return element
    outcome = ElementTree.SubElement(
        element, case.outcome, {"type": _valid(case.kind), "message": _valid(case.message)}
    )
    outcome.text = _valid(case.text)
    return element


def _unique(names: list[str]) -> Iterator[str]:
    """Yield the names, numbered where there are several alike: readers tell cases by them."""
    often, seen = Counter(names), Counter[str]()
    for name in names:
        seen[name] += 1
        yield f"{name} ({seen[name]})" if often[name] > 1 else name


def _valid(text: str) -> str:
    return _INVALID.sub("\ufffd", text)
