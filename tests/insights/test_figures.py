"""What is counted of a class: each student once, with names behind every number."""

from __future__ import annotations

import csv
import io
import json

import pytest
from msgspec.structs import replace

from grader.cli.class_reports import StudentWork
from grader.cli.insights import _observed
from grader.insights.exports import encode_insights, insights_table
from grader.insights.figures import Insights, ObjectionRow, insights_of
from grader.insights.observation import Person, best_of, observe, unobserved
from grader.language import foreign
from grader.render.final_grade import DecidedPart, FinalGrade
from grader.render.html.class_page import render_insights
from tests import sample_reports
from tests.insights.classes import made, report, timed
from tests.render.html.samples import everything

ADA, OLGA = Person("ada", "Ada"), Person("olga", "Olga")


def of(*observations) -> Insights:
    return insights_of("e2e-conv", "folder", observations)


def test_the_mistakes_that_were_planted_are_counted() -> None:
    planted = made(200)
    counted = {row.mistake: len(row.students) for row in planted.insights.mistakes}
    assert {kind: n for kind, n in planted.mistakes.items() if n} == counted
    errors: dict[str, int] = {}
    for row in planted.insights.failures:
        errors[row.error] = errors.get(row.error, 0) + len(row.students)
    assert {error: n for error, n in planted.errors.items() if n} == errors


def test_a_mistake_in_two_parts_counts_once_for_a_student() -> None:
    (row,) = of(observe(report("bias_missing"), ADA)).mistakes
    assert (("ada",), 2) == (row.students, len(row.parts))
    assert "bias_missing" in row.example.english


def test_mistakes_that_are_not_recognised_come_last() -> None:
    unknown = everything()
    parts = [
        replace(p, diagnosis=p.diagnosis and replace(p.diagnosis, mistake=""))
        for p in unknown.parts
    ]
    seen = [observe(replace(unknown, parts=tuple(parts)), Person(str(n))) for n in range(3)]
    rows = of(*seen, observe(report("zeros"), ADA)).mistakes
    assert ["zeros", ""] == [row.mistake for row in rows]


def test_an_error_is_told_by_the_heading_above_its_cell() -> None:
    problem = replace(everything().problems[0], cell=6)
    late = replace(everything(), problems=(problem,))
    (row,) = of(observe(late, ADA)).failures
    assert ("From the handout", (6,), ("ada",)) == (row.place, row.cells, row.first)


def test_only_the_first_cell_of_a_notebook_fails_first() -> None:
    rows = of(observe(everything(), ADA)).failures
    assert [("ada",), ()] == sorted((row.first for row in rows), reverse=True)


def test_checks_are_counted_by_verdict_and_by_code() -> None:
    typical = sample_reports.typical()
    parts = of(observe(typical, ADA), observe(sample_reports.full_marks(), OLGA)).parts
    check = next(
        c
        for part in parts
        for c in part.checks
        if part.id == "torch_extern" and c.id == "equivalence"
    )
    assert {"failed": ("ada",), "passed": ("olga",)} == check.verdicts
    assert [("undecided", ("ada",))] == [(row.code, row.students) for row in check.codes]
    assert 2 == check.count


def test_points_are_in_ten_steps_and_a_bonus_in_the_last() -> None:
    seen = [
        observe(sample_reports.typical(), Person(str(n)), points=n, possible=100)
        for n in (0, 9.99, 10, 99, 100, 107)
    ]
    bins = of(*seen).bins
    assert [2, 1, 0, 0, 0, 0, 0, 0, 0, 3] == [len(each.students) for each in bins]


def test_what_was_measured_on_two_machines_is_not_put_together() -> None:
    one = timed(sample_reports.typical(), 1.0)
    other = replace(one, environment=replace(one.environment, cpu="another"))
    rows = of(observe(one, ADA), observe(other, OLGA)).speeds
    assert [1, 1] == [len(row.rows) for row in rows]
    together = of(observe(one, ADA), observe(timed(one, 2.0), OLGA)).speeds[0].rows
    assert ["olga", "ada"] == [row.student for row in together]


def test_the_best_of_several_reports_counts_and_is_looked_at() -> None:
    seen = [observe(report(score=points), ADA) for points in (10.0, 60.0, 40.0)]
    best = best_of(seen)
    assert (60.0, "several") == (best.points, best.concerns[0].kind)
    assert seen[0] is best_of(seen[:1])


@pytest.mark.parametrize(
    ("points", "attempts", "kinds"),
    [
        (51.0, ((1, (51.0,)),), ["near"]),
        (60.0, ((1, (60.0,)),), []),
        (30.0, ((1, (60.0,)), (2, (30.0,))), ["fell"]),
        (90.0, ((1, (60.0,)), (2, (90.0,))), []),
        (90.0, ((1, (60.0, 90.0)),), ["regraded"]),
    ],
)
def test_who_needs_a_look_by_points(points: float, attempts, kinds: list[str]) -> None:
    from grader.insights.observation import ReportedAttempt

    given = tuple(ReportedAttempt(number, None, scores, 100.0) for number, scores in attempts)
    seen = observe(sample_reports.full_marks(), ADA, points=points, attempts=given, passing=50)
    assert kinds == [each.kind for each in seen.concerns]


def test_files_that_were_handed_in_together_are_not_less_than_one_another() -> None:
    """Two notebooks of one archive were attempts 1 and 2, by name: the second was "less"."""
    from grader.insights.observation import ReportedAttempt

    for last, kinds in ((90.0, []), (80.0, ["fell"])):
        given = (
            ReportedAttempt(1, None, (95.0,), 100.0, together="a"),
            ReportedAttempt(2, None, (15.0,), 100.0, together="a"),
            ReportedAttempt(3, None, (last,), 100.0),
        )
        seen = observe(sample_reports.full_marks(), ADA, points=95.0, attempts=given)
        assert kinds == [each.kind for each in seen.concerns]


def test_other_points_by_another_rubric_are_no_reason_to_look() -> None:
    from grader.insights.observation import ReportedAttempt

    for rules, kinds in ((("a", "b"), []), (("a", "a"), ["regraded"]), (("a", "b", "a"), [])):
        scores = (60.0, 90.0, 60.0)[: len(rules)]
        given = (ReportedAttempt(1, None, scores, 100.0, rules),)
        seen = observe(sample_reports.full_marks(), ADA, points=90.0, attempts=given)
        assert kinds == [each.kind for each in seen.concerns]


def test_who_needs_a_look_by_the_report() -> None:
    full = sample_reports.full_marks()
    part = full.parts[0]
    checks = (
        replace(part.checks[0], again=True, reason=foreign("busy")),
        replace(part.checks[1], code="held", reason=foreign("held")),
        replace(part.checks[1], id="wide", interval=0.5),
    )
    odd = replace(part, checks=checks, contested=True, open=3.0)
    seen = observe(replace(full, parts=(odd,)), ADA)
    kinds = ["again", "held", "interval", "contested", "unmarked"]
    assert kinds == [each.kind for each in seen.concerns]


def test_what_a_person_has_marked_needs_no_look() -> None:
    full = sample_reports.full_marks()
    asked = replace(full, parts=(replace(full.parts[0], open=3.0),))
    assert ["unmarked"] == [each.kind for each in observe(asked, ADA).concerns]
    assert () == observe(asked, ADA, marked={asked.parts[0].id}).concerns


def test_parts_that_a_person_marks_have_titles() -> None:
    """An objection to one was listed by the part's id."""
    full = sample_reports.full_marks()
    essay = replace(full.parts[0], id="essay", title=foreign("Your essay"), checks=(), open=3.0)
    found = of(observe(replace(full, parts=(*full.parts, essay)), ADA))
    assert foreign("Your essay") == found.titles["essay"]
    found = replace(found, objections=(ObjectionRow("essay", "open", 1, ("ada",)),))
    page = render_insights(found, "en", "").decode()
    assert ">Your essay<" in page


def test_the_class_knows_what_its_gradebook_has_marked() -> None:
    full = sample_reports.full_marks()
    asked = replace(full, parts=(replace(full.parts[0], open=3.0),))
    id = asked.parts[0].id
    part = DecidedPart(id, 3.0, 3.0, 0.0, True, ())
    final = FinalGrade(3.0, 3.0, 0.0, (), parts=(part,))
    work = StudentWork("w", ADA, asked, final=final)
    assert () == _observed(work, None, None, "").concerns
    still_open = final._replace(parts=(part._replace(is_marked=False),))
    (concern,) = _observed(work._replace(final=still_open), None, None, "").concerns
    assert "unmarked" == concern.kind


def test_whoever_could_not_be_graded_is_in_no_rate() -> None:
    found = of(observe(report("zeros"), ADA), unobserved(OLGA, foreign("it is damaged")))
    assert (1, 2) == (found.graded, len(found.students))
    assert [("olga", "ungraded")] == [(e.student, e.reasons[0].kind) for e in found.concerns]


def test_nobody_at_all_is_no_error() -> None:
    found = of()
    assert (0, (), None) == (found.graded, found.bins, found.numbers.median)


def test_json_and_table_have_the_same_numbers() -> None:
    planted = made(40)
    document = json.loads(encode_insights(planted.insights))
    rows = list(csv.DictReader(io.StringIO(insights_table(planted.insights).decode())))
    listed = {row["mistake"]: len(row["students"]) for row in document["mistakes"]}
    assert listed == {
        row["item"]: int(row["students"]) for row in rows if row["figure"] == "mistake"
    }
    assert 40 == sum(row["figure"] == "student" for row in rows) == len(document["students"])


def test_a_name_is_no_formula_in_the_table() -> None:
    hostile = observe(
        replace(everything(), problems=(replace(everything().problems[0], error="=cmd()"),)),
        Person("=x\ud800"),
    )
    table = insights_table(of(hostile)).decode()
    assert not any(cell.startswith("=") for row in csv.reader(io.StringIO(table)) for cell in row)
    json.loads(encode_insights(of(hostile)))
