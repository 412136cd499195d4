"""What of a report is a finding, and beside which line of the file it belongs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from grader.evidence.case import Replay
from grader.language import NOTHING, Clause, Text, foreign, join, say
from grader.render.findings import (
    as_listed,
    diagnosis_of,
    explanation,
    failed_cells,
    first_causes,
    is_lost,
    line_in_file,
    lost_checks,
    missing_parts,
    reading,
    timing_of,
    told_cause,
    worth,
)
from grader.report import Cell, CellProblem, Check, Diagnosis, Part, Report, Step, Visibility
from grader.report.parts import CheckCode
from tests import sample_reports
from tests.render.foreign import with_cells

DIAGNOSIS = Diagnosis(
    (Step("lv", "f", (1,), "wrong"),),
    0,
    foreign("f"),
    None,
    "",
    foreign("It departs."),
    foreign("Mend it."),
)


def check(name: str, kind: str = "", visibility: Visibility = "visible", score: float = 0) -> Check:
    """A check of one point, lost unless `score` is 1."""
    verdict = "passed" if score == 1 else "failed"
    return Check(
        name,
        foreign(name),
        score,
        1.0,
        verdict,
        foreign(f"Why {name}."),
        foreign("Do."),
        visibility,
        kind,
    )


def part(*checks: Check) -> Part:
    return Part("part", foreign("Part"), 0.0, 1.0, checks, diagnosis=DIAGNOSIS)


class TestLines:
    """The line of the file of a line of a cell."""

    def test_a_cell_begins_where_the_report_says(self) -> None:
        assert 65 == line_in_file(with_cells(), 7)

    def test_lines_of_a_cell_follow_its_first(self) -> None:
        assert [65, 67] == [line_in_file(with_cells(), 7, line) for line in (1, 3)]

    def test_a_line_is_never_in_the_next_cell(self) -> None:
        assert 74 == line_in_file(with_cells(), 7, 100)

    def test_the_last_cell_has_no_more_lines_than_its_text(self) -> None:
        assert 170 == line_in_file(with_cells(), 17, 100)

    def test_in_a_file_of_one_line_everything_is_on_it(self) -> None:
        cells = tuple(Cell("code", "a\nb\nc", number, 1) for number in (1, 2))
        report = msgspec.structs.replace(with_cells(), cells=cells)
        assert [1, 1] == [line_in_file(report, number, 3) for number in (1, 2)]

    def test_cells_that_begin_on_the_same_line_have_it_all(self) -> None:
        cells = tuple(Cell("code", "a\nb\nc", number, 4) for number in (1, 2))
        report = msgspec.structs.replace(with_cells(), cells=cells)
        assert 4 == line_in_file(report, 1, 3)

    def test_text_between_code_has_lines_but_no_number(self) -> None:
        cells = (Cell("markdown", "t", None, 3), Cell("code", "a\nb", 1, 9))
        report = msgspec.structs.replace(with_cells(), cells=cells)
        assert 10 == line_in_file(report, 1, 2)

    @pytest.mark.parametrize("cell", [0, 18, -1])
    def test_a_cell_that_the_report_does_not_have_has_no_line(self, cell: int) -> None:
        assert line_in_file(with_cells(), cell, 1) is None

    def test_a_report_without_cells_has_no_lines(self) -> None:
        assert line_in_file(sample_reports.typical(), 7, 3) is None

    def test_a_cell_whose_line_is_not_known_has_none(self) -> None:
        report = msgspec.structs.replace(with_cells(), cells=(Cell("code", "a", 1),))
        assert line_in_file(report, 1, 1) is None

    def test_of_a_script_the_line_is_that_of_the_file(self) -> None:
        report = script()
        assert [140, 7] == [line_in_file(report, 14), line_in_file(report, 14, 7)]
        assert line_in_file(report, 99) is None


def script() -> Report:
    report = with_cells()
    starts = tuple(range(10, 180, 10))
    submission = msgspec.structs.replace(report.submission, name="hw.py", starts=starts)
    return msgspec.structs.replace(report, submission=submission)


class TestLost:
    """Which checks are findings."""

    def test_a_check_with_all_points_that_did_not_pass_is_lost(self) -> None:
        free = Check("a", foreign("A"), 0.0, 0.0, "failed", foreign("Why."))
        assert is_lost(free)
        assert not is_lost(msgspec.structs.replace(free, verdict="passed"))

    def test_neighbours_with_one_reason_come_together(self) -> None:
        first, second = check("a"), check("b")
        second = msgspec.structs.replace(second, reason=first.reason)
        found = list(lost_checks(part(first, second, check("c"), check("d", score=1))))
        assert [["a", "b"], ["c"]] == [[each.id for each in group] for group in found]


class TestDiagnosis:
    """To which check a diagnosis belongs."""

    def test_it_explains_the_check_that_compares_outputs(self) -> None:
        calls, compares = check("calls", "calls"), check("same", "equivalence")
        both = part(calls, compares)
        assert (None, DIAGNOSIS) == (diagnosis_of(both, calls), diagnosis_of(both, compares))

    def test_a_check_of_unknown_kind_is_what_its_name_says(self) -> None:
        compares = check("equivalence")
        assert DIAGNOSIS == diagnosis_of(part(compares), compares)

    def test_a_check_that_passed_needs_none(self) -> None:
        compares = check("same", "equivalence", score=1)
        assert diagnosis_of(part(compares), compares) is None

    def test_it_is_not_shown_with_one_check_where_another_is_kept_back(self) -> None:
        seen, hidden = check("a", "equivalence"), check("b", "equivalence", "hidden")
        assert diagnosis_of(part(seen, hidden), seen) is None

    def test_an_explanation_has_it_after_reason_and_advice(self) -> None:
        compares = check("same", "equivalence")
        assert [
            "Why same.",
            "What to do: Do.",
            "It departs.",
            "What to do: Mend it.",
        ] == explanation(part(compares), compares, sample_reports.typical())

    def test_what_a_reason_says_is_not_said_again(self) -> None:
        compares = msgspec.structs.replace(
            check("same", "equivalence"), reason=foreign("So: It departs."), tells_diagnosis=True
        )
        told = explanation(part(compares), compares, sample_reports.typical())
        assert (2, 1) == (len(told), "".join(told).count("It departs"))

    @pytest.mark.parametrize(
        ("link", "said"),
        [
            ("https://example.org/a#b", "Read again: https://example.org/a#b"),
            ("2. Padding", 'Read again in the notebook: "2. Padding"'),
            ("https://a b\n::x", 'Read again in the notebook: "https://a b ::x"'),
            ("", ""),
        ],
    )
    def test_a_link_leads_to_a_page_or_a_heading(self, link: str, said: str) -> None:
        assert said == reading(link)


class TestTimes:
    """Where several parts are timed, a report has the times of the first."""

    @staticmethod
    def report(of: str) -> Report:
        parts = tuple(
            msgspec.structs.replace(part(check(name, "speed")), id=name) for name in ("a", "b")
        )
        timing = msgspec.structs.replace(sample_reports.TIMING, part=of)
        return msgspec.structs.replace(sample_reports.typical(), parts=parts, timing=timing)

    def test_they_explain_the_check_of_their_part_alone(self) -> None:
        report = self.report("b")
        (first,), (second,) = (each.checks for each in report.parts)
        assert (None, report.timing) == (timing_of(report, first), timing_of(report, second))

    def test_those_of_an_older_report_explain_every_check_of_speed(self) -> None:
        report = self.report("")
        assert all(report.timing == timing_of(report, each.checks[0]) for each in report.parts)


# What is to be mended first, and what is never advised.


def graded(
    code: CheckCode, score: float = 0.0, maximum: float = 10.0, why: str | Text = "", **more: Any
) -> Check:
    verdict = "passed" if score == maximum else "partial" if score else "failed"
    reason = foreign(why or f"{code} {maximum}") if isinstance(why, str) else why
    return Check(code, foreign(code), score, maximum, verdict, reason, code=code, **more)


def part_with(*checks: Check) -> Part:
    score, most = (sum(getattr(each, name) for each in checks) for name in ("score", "max_score"))
    return Part("p", foreign("p"), score, most, checks)


def of(*parts: Part) -> Report:
    return replace(sample_reports.typical(), parts=parts)


def first(*parts: Part) -> tuple[int, str, float] | None:
    """Return the place of the part, the code of the check, and the points, of what comes first."""
    causes = first_causes(of(*parts))
    return (causes[0].part, causes[0].check.code, causes[0].points) if causes else None


def mistaken(mistake: Any, advice: str, points: float = 10) -> Part:
    """Return a part that lost points by a mistake which is told with other numbers everywhere."""
    told = f"{points} of 20 differ."
    check = graded("values", 0, points, told, hint=foreign(advice), tells_diagnosis=True)
    diagnosis = Diagnosis((), 0, NOTHING, None, mistake, foreign("It departs."), foreign(advice))
    return replace(part_with(check), diagnosis=diagnosis)


def rewritten(kind: str, count: int) -> Part:
    """Return a part in which a check is not met, and what is computed has a known mistake."""
    part = mistaken("other_activation", "Compute silu.")
    unmet = replace(graded("unmet", 0, 10, f"There should be {count}."), kind=kind)
    waiting = replace(part.checks[0], code="waits", tells_diagnosis=False, max_score=5)
    return replace(part, checks=(unmet, waiting))


def calling(callee: str) -> Step:
    return Step("lv", callee, (), "wrong", NOTHING)


def raising(callee: str, why: str, points: float) -> Part:
    """Return a part whose module was run until an external function raised."""
    check = graded("run_failed", 0, points, f"It raised: {why}", tells_diagnosis=True)
    diagnosis = Diagnosis(
        (calling(callee),), 0, NOTHING, None, "", foreign("The run stops in lv."), NOTHING
    )
    return replace(part_with(check), diagnosis=diagnosis)


FULL = part_with(graded("passed", 10.0))


class TestOrder:
    def test_where_nothing_is_lost_nothing_is_first(self) -> None:
        assert None is first(FULL, FULL)

    def test_what_brings_most_is_first(self) -> None:
        assert (2, "shape", 20) == first(
            FULL, part_with(graded("values", 0, 5)), part_with(graded("shape", 0, 20))
        )

    def test_of_equals_the_first_in_the_assignment(self) -> None:
        assert (0, "values", 10) == first(part_with(graded("values")), part_with(graded("shape")))

    def test_failed_comes_before_wrong_that_before_missing_and_missing_before_better(self) -> None:
        reason = say("{name} is missing: cell {cell}", name="a", cell=5)
        failed, wrong, missing, better = (
            part_with(graded("unfinished_cell", 0, 1, reason)),
            part_with(graded("values", 0, 2)),
            part_with(graded("absent", 0, 40)),
            part_with(graded("incomplete", 1, 90, kind="speed")),
        )
        assert (3, "unfinished_cell", 1) == first(missing, better, wrong, failed)
        assert (2, "values", 2) == first(missing, better, wrong)
        assert (1, "absent", 40) == first(better, missing)
        assert (0, "incomplete", 89) == first(better, FULL)

    @pytest.mark.parametrize("kind", ["equivalence", "graph", "steps"])
    def test_wrong_that_has_some_of_its_points_comes_before_missing(self, kind: str) -> None:
        """Only of speed there is too little in what is right."""
        partly = part_with(graded("incomplete", 11, 18, kind=kind))
        assert (1, "incomplete", 7) == first(part_with(graded("absent", 0, 20)), partly)

    def test_slower_than_nothing_could_be_better(self) -> None:
        slower = part_with(graded("slower", 0, 30, kind="speed"))
        assert (1, "absent", 20) == first(slower, part_with(graded("absent", 0, 20)))

    def test_points_that_are_partly_there_count_by_what_is_missing(self) -> None:
        assert (1, "shape", 6) == first(
            part_with(graded("values", 25, 30, "a")),
            part_with(graded("shape", 4, 10, "b")),
        )


class TestCauses:
    def test_checks_that_lost_for_one_reason_are_one_cause(self) -> None:
        one = [graded("not_built", 0, each, "TVM cannot build it.") for each in (3, 4)]
        assert (1, "not_built", 7) == first(part_with(graded("values", 0, 6)), part_with(*one))

    def test_what_is_mended_by_one_cell_is_one_cause_in_all_parts(self) -> None:
        reason = say("{name} is missing: cell {cell}", name="a", cell=5)
        other = say("{name} is missing: cell {cell}", name="b", cell=5)
        elsewhere = say("{name} is missing: cell {cell}", name="c", cell=6)
        parts = [part_with(graded("unfinished_cell", 0, 10, each)) for each in (reason, other)]
        third = part_with(graded("unfinished_cell", 0, 15, elsewhere))
        assert (0, "unfinished_cell", 20) == first(*parts, third)

    def test_a_helper_that_raised_is_one_cause_in_all_parts_that_call_it(self) -> None:
        def raised(name: str, line: int) -> Part:
            where = say("cell", name=name, cell=9)
            told = {"error": "KeyError", "line": line, "message": "no"}
            reason = say("where-raised-error-at-line-message", where=where, **told)
            return part_with(graded("raised", 0, 10, reason))

        assert (0, "raised", 20) == first(raised("a", 3), raised("b", 3), raised("c", 4))

    def test_an_importer_that_raises_is_one_cause_whatever_the_extents_of_its_models(self) -> None:
        def raised(message: str) -> Part:
            told = {"error": "ValueError", "line": 3, "message": message}
            where = say("cell", name="a", cell=9)
            return part_with(
                graded(
                    "raised", 0, 4, say("where-raised-error-at-line-message", where=where, **told)
                )
            )

        parts = [raised("x1 has (1, 784)."), raised("x1 has (5, 24)."), raised("x2 has (1, 3).")]
        assert [8, 4] == [each.points for each in first_causes(of(*parts))]

    def test_what_waits_for_the_only_cause_of_its_part_comes_with_it(self) -> None:
        waiting = graded("waits", 0, 8)
        assert (1, "shape", 10) == first(
            part_with(graded("values", 0, 9)), part_with(graded("shape", 0, 2), waiting)
        )

    def test_what_waits_for_one_of_two_causes_is_counted_to_neither(self) -> None:
        waiting = graded("waits", 0, 8)
        two = part_with(graded("shape", 0, 2), graded("dtype", 0, 3), waiting)
        assert (0, "values", 4) == first(part_with(graded("values", 0, 4)), two)

    def test_of_two_causes_the_one_counts_that_the_other_checks_wait_for(self) -> None:
        """Neither brings points by itself, and nothing was said to come first."""
        dtype, shape = (
            replace(graded(code, 0, 0), verdict="failed") for code in ("dtype", "shape")
        )
        why = say("counts-only-once-this-holds", condition=Clause(shape.title))
        waiting = graded("waits", 0, 8, why)
        two = part_with(dtype, shape, waiting)
        assert (0, "shape", 8) == first(two)

    def test_one_mistake_is_one_cause_in_all_parts_that_it_shows_in(self) -> None:
        """The model that computes the mean of each window is scheduled, too."""
        parts = [mistaken("pooling_kind", "Take the maximum."), part_with(graded("shape", 0, 9))]
        parts.append(mistaken("pooling_kind", "Take the maximum.", 5))
        assert (0, "values", 15) == first(*parts)

    def test_one_mistake_in_two_functions_is_two_causes(self) -> None:
        """An addition leaves a column out, and a ReLU the negative numbers."""
        parts = [mistaken("partly_written", "Loop over all.", points=each) for each in (10, 5)]
        parts = [
            replace(part, diagnosis=replace(part.diagnosis, steps=(step,)))
            for part, step in zip(parts, map(calling, ("add", "relu")), strict=True)
        ]
        assert [10, 5] == [each.points for each in first_causes(of(*parts))]

    def test_a_pass_that_changes_numbers_is_told_of_them_and_not_of_what_is_not_there(self) -> None:
        """A gelu in place of a silu: there is no silu, in any of the models."""
        report = of(*(rewritten("operators", count) for count in (1, 2)))
        (cause,) = first_causes(report)
        assert (30, "It departs.") == (cause.points, told_cause(cause, report))
        reasons = [each.checks[0].reason.english for each in as_listed(report, [cause]).parts]
        assert [f"See 1 at the top. There should be {count}." for count in (1, 2)] == reasons

    def test_what_a_pass_lacks_in_several_models_is_one_cause(self) -> None:
        """A mark that is forgotten is missing from functions of several names."""
        parts = []
        for name in ("fused_dense", "fused_dense1"):
            reason = say("function-not-marked-as-one-compiled", name=name)
            check = graded("unmet", 0, 10, reason, hint=foreign("Mark it."))
            parts.append(part_with(replace(check, kind="fused")))
        assert (0, "unmet", 20) == first(*parts)

    def test_a_graph_that_lacks_calls_is_told_of_those(self) -> None:
        report = of(rewritten("call_tir_graph", 1))
        assert "There should be 1." == told_cause(first_causes(report)[0], report)

    def test_two_mistakes_of_one_advice_are_two_causes(self) -> None:
        parts = [mistaken("bias_twice", "Add it once."), mistaken("bias_missing", "Add it once.")]
        assert [10, 10] == [each.points for each in first_causes(of(*parts))]

    def test_what_no_mistake_explains_is_a_cause_of_its_own(self) -> None:
        assert 2 == len(first_causes(of(mistaken("", "Compare."), mistaken("", "Compare.", 5))))

    def test_a_function_that_raises_is_one_cause_in_all_parts_and_the_error_is_said(self) -> None:
        parts = [raising("env.linear", f"{size} do not fit", size) for size in (4, 10)]
        (cause,) = first_causes(of(*parts))
        assert (0, 14) == (cause.part, cause.points)
        assert "It raised: 4 do not fit" == told_cause(cause, of(*parts))
        parts[1] = raising("env.relu", "10 do not fit", 10)
        assert 2 == len(first_causes(of(*parts)))

    def test_three_are_told_in_their_order(self) -> None:
        parts = [part_with(graded("values", 0, each)) for each in (2, 8, 4, 6)]
        assert [8, 6, 4] == [each.points for each in first_causes(of(*parts))]

    def test_a_schedule_that_stopped_is_one_cause_whatever_it_lacks(self) -> None:
        stop = say("schedule-stops-in-cell-where-step-raised", cell=7)
        steps = graded("unfinished_cell", 2, 6, join(stop, foreign("Not seen: a split.")))
        speed = graded("unfinished_cell", 0, 9, join(stop, foreign("Not timed.")))
        assert (0, "unfinished_cell", 13) == first(part_with(steps, speed))

    def test_what_a_schedule_begins_on_comes_before_the_step_that_it_stops_at(self) -> None:
        """Whoever mended the step had no points for that."""
        wrong = replace(graded("values", 0, 0), verdict="failed")
        stop = say("schedule-stops-in-cell-where-step-raised", cell=7)
        waits = say("counts-only-once-this-holds", condition=Clause(wrong.title))
        steps = graded("unfinished_cell", 0, 9, join(stop, waits))
        causes = first_causes(of(part_with(steps, wrong), part_with(graded("shape", 0, 20))))
        assert ["values", "unfinished_cell", "shape"] == [each.check.code for each in causes]

    def test_a_pass_that_is_missing_is_one_cause_of_all_checks(self) -> None:
        """It was listed once for the operators that it should make, and once for the outputs."""
        missing = say("notebook-has-no-pass-called", entry="Fuse")
        checks = [graded("absent", 0, 4, missing, kind=kind) for kind in ("operators", "")]
        assert (0, "absent", 8) == first(part_with(*checks))

    def test_what_waits_for_the_same_cause_is_counted_once(self) -> None:
        """Of a schedule that stops, the check that others wait for lacks the same step."""
        stop = say("schedule-stops-in-cell-where-step-raised", cell=7)
        threads = replace(graded("unfinished_cell", 0, 0, stop), verdict="failed")
        waits = say("counts-only-once-this-holds", condition=Clause(threads.title))
        outputs = graded("unfinished_cell", 0, 8, join(stop, waits))
        assert (0, "unfinished_cell", 8) == first(part_with(threads, outputs))


class TestListed:
    def test_parts_that_lack_one_thing_each_have_numbers_of_their_own(self) -> None:
        """Each part of the GPU's kernels needs a schedule, and takes other arrays."""
        missing = "There is no schedule."
        parts = [
            part_with(graded("shape", 0, points, missing, hint=foreign(f"Take {points}.")))
            for points in (5, 9, 7)
        ]
        report = of(*parts)
        listed = as_listed(report, first_causes(report, most=2))
        reasons = [each.checks[0].reason.english for each in listed.parts]
        assert [missing, "See 1 at the top.", "See 2 at the top."] == reasons

    def test_one_advice_on_two_checks_of_a_part_stands_at_the_first(self) -> None:
        """A function that never writes its output fails the check of that, and of the numbers."""
        write = foreign("Write into the last argument.")
        reasons = "It wrote nothing.", "It differs.", "It differs."
        checks = [graded("unmet", 0, 4, each, hint=write) for each in reasons]
        (part,) = as_listed(of(part_with(*checks)), []).parts
        assert [write, NOTHING, NOTHING] == [each.hint for each in part.checks]

    def test_what_to_do_about_one_cause_stands_in_the_first_of_its_parts(self) -> None:
        """A web page in place of a notebook was told four times, with what to do, and not first."""
        page, get = foreign("It is a web page."), foreign("Download the notebook.")
        checks = [graded("unreadable", 0, 5, page, hint=get) for _ in range(4)]
        report = of(part_with(*checks[:2]), part_with(*checks[2:]))
        (cause,) = first_causes(report)
        assert (20, "It is a web page.") == (cause.points, told_cause(cause, report))
        listed = as_listed(report, [cause])
        told = [[each.hint for each in one.checks] for one in listed.parts]
        assert [[get, get], [NOTHING, NOTHING]] == told

    def test_the_same_steps_are_drawn_once(self) -> None:
        """A schedule is made of a model that is wrong: its steps are those of the model."""
        model, scheduled = (mistaken("bias_missing", "Add it.", points) for points in (10, 5))
        (why,) = scheduled.checks
        why = replace(why, reason=join(foreign("So is the unscheduled module."), why.reason))
        report = of(model, replace(scheduled, checks=(why,)))
        first_part, second = as_listed(report, first_causes(report)).parts
        assert (True, False) == (first_part.diagnosis is not None, second.diagnosis is not None)
        told = second.checks[0].reason.english
        assert "See 1 at the top. So is the unscheduled module. 5 of 20 differ." == told

    def test_what_another_check_of_the_part_says_too_is_not_said_again(self) -> None:
        """The step that raised was told of the steps, and once more of the speed."""
        stop = say("{name} is missing: cell {cell}", name="a", cell=5)
        only = say("counts-only-once-this-holds", condition=Clause(foreign("It is right")))
        lacks, untimed = foreign("Not seen: a split."), foreign("It is not timed.")
        mend = foreign("Mend it.")
        checks = [
            graded("unfinished_cell", 0, 6, join(stop, lacks, only), hint=mend),
            graded("unfinished_cell", 0, 4, join(stop, untimed, only), hint=mend),
        ]
        report = of(part_with(*checks))
        (cause,) = first_causes(report)
        assert "counts" not in told_cause(cause, report).lower()
        (told,) = as_listed(report, [cause]).parts
        reasons = [each.reason for each in told.checks]
        seen = say("see-at-top", number=1)
        assert [join(seen, only), join(seen, untimed, only)] == reasons
        assert [mend, NOTHING] == [each.hint for each in told.checks]

    def test_advice_of_a_check_is_not_given_again_by_the_diagnosis(self) -> None:
        lost = graded("extern_failed", 0, 5, foreign("It raised."), hint=DIAGNOSIS.advice)
        (told,) = as_listed(of(replace(part_with(lost), diagnosis=DIAGNOSIS)), []).parts
        assert told.diagnosis is not None
        assert (NOTHING, DIAGNOSIS.message) == (told.diagnosis.advice, told.diagnosis.message)

    def test_what_a_check_says_to_do_is_not_said_again_of_the_cell(self) -> None:
        mend, other = foreign("Mend it."), foreign("Look there.")
        lost = part_with(graded("unfinished_cell", 0, 5, foreign("It failed."), hint=mend))
        problems = [CellProblem(cell, "E", "no", 1, mend) for cell in (1, 2)]
        problems[1] = replace(problems[1], hint=other)
        report = replace(of(lost), problems=tuple(problems))
        assert [NOTHING, other] == [each.hint for each in failed_cells(report)]

    def test_of_a_cells_hint_only_the_sentences_are_told_that_no_check_has_said(self) -> None:
        """Why TVM refuses a step was told in the list, in the part, and under the cell."""
        why, mend, other = foreign("It sums."), foreign("Mend it."), foreign("Look there.")
        lost = part_with(
            graded("unfinished_cell", 0, 5, join(foreign("It fails."), why), hint=mend)
        )
        problem = CellProblem(1, "E", "no", 1, join(why, mend, other))
        report = replace(of(lost), problems=(problem,))
        assert [other] == [each.hint for each in failed_cells(report)]

    def test_of_a_step_that_a_part_stops_at_the_cell_says_no_other_cause(self) -> None:
        """A ReLU in place was no sum, said the part; the cell spoke of decompose_reduction."""
        stop = say("schedule-stops-in-cell-line-where-step", cell=1, line=3)
        lost = part_with(graded("unfinished_cell", 0, 5, join(stop, foreign("In place."))))
        problems = tuple(
            CellProblem(cell, "E", "no", 1, foreign("Move decompose_reduction.")) for cell in (1, 2)
        )
        found = failed_cells(replace(of(lost), problems=problems))
        assert [False, True] == [bool(each.hint) for each in found]

    @pytest.mark.parametrize("steps", [1, 6])
    def test_how_a_schedule_was_judged_is_left_to_the_part(self, steps: int) -> None:
        stop, proven = foreign("It stops."), Replay(proven=True, steps=steps).provenance
        (cause,) = first_causes(of(part_with(graded("unmet", 0, 5, join(stop, proven)))))
        report = of(part_with(graded("unmet", 0, 5, join(stop, proven))))
        assert "It stops." == told_cause(cause, report)
        told = as_listed(report, [cause]).parts[0].checks[0].reason
        assert join(say("see-at-top", number=1), proven) == told

    def test_what_there_is_no_room_for_is_left_to_the_part_in_whole_sentences(self) -> None:
        stop, more = foreign("It stops in line 5."), foreign(f"Done: {'a step, ' * 60}the last.")
        report = of(part_with(graded("unfinished_cell", 2, 6, join(stop, more))))
        causes = first_causes(report)
        assert "It stops in line 5." == told_cause(causes[0], report)
        told = as_listed(report, causes).parts[0].checks[0].reason.english
        assert f"See 1 at the top. {more.english}" == told

    def test_what_one_mistake_brings_is_told_with_its_parts(self) -> None:
        parts = [mistaken("bias_missing", "Add it."), mistaken("bias_missing", "Add it.", 5)]
        assert "worth up to 15 points in 2 parts" == worth(first_causes(of(*parts))[0])
        assert "worth up to 10 points" == worth(first_causes(of(parts[0]))[0])


class TestNeverAdvised:
    @pytest.mark.parametrize(
        "code",
        ["held", "waits", "withheld", "busy", "no_answer", "no_target", "undecided", "disturbed"],
    )
    def test_what_the_submission_does_not_decide_is_no_cause(self, code: CheckCode) -> None:
        assert None is first(part_with(graded(code)))

    def test_what_has_to_be_graded_again_is_no_cause(self) -> None:
        assert None is first(part_with(graded("crashed", again=True)))

    def test_what_nothing_is_said_of_is_no_cause(self) -> None:
        assert None is first(part_with(replace(graded("values"), reason=NOTHING, hint=NOTHING)))

    def test_what_brings_no_points_is_no_cause(self) -> None:
        assert None is first(part_with(graded("unmet", 0, 0)))


def is_missing(part_with: Part, *cells: Cell) -> bool:
    return bool(missing_parts(replace(of(part_with), cells=cells)))


class TestMissing:
    def test_a_part_of_which_nothing_was_found_is_missing(self) -> None:
        assert is_missing(part_with(graded("absent"), graded("absent")))
        assert is_missing(part_with(graded("unsolved"), graded("waits")))

    @pytest.mark.parametrize("code", ["raised", "unfinished_cell", "given", "values", "undecided"])
    def test_what_was_tried_is_not(self, code: CheckCode) -> None:
        assert not is_missing(part_with(graded(code)))
        assert not is_missing(part_with(graded("absent"), graded(code)))

    def test_what_a_cell_of_the_handout_was_to_make_is(self) -> None:
        """It fails where the cells before it are not solved: nobody is to mend the handout."""
        reason = say("{name} is missing: cell {cell}", name="sch", cell=5)
        lost = part_with(graded("unfinished_cell", 0, 30, reason))
        own, given = Cell("code", "sch = ...", 5), Cell("code", "sch = ...", 5, given=True)
        assert [False, True] == [is_missing(lost, own), is_missing(lost, given)]
        report = of(lost, part_with(graded("absent", 0, 40)))
        found = [first_causes(replace(report, cells=(cell,)))[0] for cell in (own, given)]
        assert [0, 1] == [cause.part for cause in found]

    def test_without_checks_nothing_is_known(self) -> None:
        assert not is_missing(part_with())
        assert not is_missing(part_with(graded("waits")))
