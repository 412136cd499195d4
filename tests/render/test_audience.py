"""What students may see of a report, and that nothing else tells the rest."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from msgspec.structs import replace

from grader.language import foreign, say
from grader.render.audience import shown
from grader.report import (
    Check,
    Diagnosis,
    Part,
    Report,
    Sample,
    Scripts,
    Step,
    Visibility,
    encode_report,
)
from tests import sample_reports

DUE = datetime(2126, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=1)))
EARLY, LATE = DUE - timedelta(minutes=1), DUE
KEPT_BACK = say("your-instructor-hides-some-checks-they")
LATER = say("some-them-shown", due="2126-12-01 23:59+01:00")
POINTS_ONLY = say("for-some-checks-your-instructor-shows-only")
ALL: tuple[Visibility, ...] = ("visible", "after_due", "score_only", "hidden")

DIAGNOSIS = Diagnosis(
    (Step("lv", "conv2d", (4, 32, 26, 26), "wrong"),),
    0,
    foreign("conv2d"),
    None,
    "bias_missing",
    foreign("m"),
    foreign("a"),
)
SAMPLE = Sample(0, "iVBORw0KGgo=", ("bag", "boot"), 0, 1, 0, (0.1, 0.9), (0.9, 0.1))
SCRIPTS = Scripts("conv2d", "before", "after")


def check(visibility: Visibility, kind: str = "calls", points: float = 1.0) -> Check:
    """A check that lost half of its points; its texts say its name."""
    name = f"{kind}_{visibility}"
    reason, hint = f"The reason of {name}.", f"The hint of {name}."
    return Check(
        name,
        foreign(f"Title of {name}"),
        points / 2,
        points,
        "partial",
        foreign(reason),
        foreign(hint),
        visibility,
        kind,
    )


def part(*checks: Check, name: str = "part") -> Part:
    """A part that has everything that explains its checks."""
    return Part(
        name,
        foreign(f"The part {name}"),
        sum(each.score for each in checks),
        sum(each.max_score for each in checks),
        checks,
        graph=sample_reports.GRAPH,
        diagnosis=DIAGNOSIS,
        sample=SAMPLE,
        scripts=SCRIPTS,
        sections=(sample_reports.SECTION,),
    )


def report(*parts: Part, due: str = DUE.isoformat(), **changes: object) -> Report:
    typical = sample_reports.typical()
    return replace(
        typical,
        score=sum(each.score for each in parts),
        max_score=sum(each.max_score for each in parts),
        assignment=replace(typical.assignment, due=due),
        parts=parts,
        **changes,
    )


FOUR = report(part(*(check(each, points=2.0**at) for at, each in enumerate(ALL))))
"""One check of each visibility, for 1, 2, 4 and 8 points: half of each is there."""


def names(seen: Report) -> list[str]:
    return [each.id for part in seen.parts for each in part.checks]


def only(*checks: Check, **changes: object) -> Report:
    """Return what students see early of a report with one part."""
    return shown(report(part(*checks), **changes), "student", EARLY)


class TestInstructor:
    def test_sees_everything(self) -> None:
        assert FOUR is shown(FOUR, "instructor", EARLY)


class TestChecks:
    def test_before_the_due_date_what_is_visible_or_has_points_to_show(self) -> None:
        assert ["calls_visible", "calls_score_only"] == names(shown(FOUR, "student", EARLY))

    def test_from_the_due_date_on_also_what_was_kept_for_then(self) -> None:
        seen = shown(FOUR, "student", LATE)
        assert ["calls_visible", "calls_after_due", "calls_score_only"] == names(seen)
        assert FOUR.parts[0].checks[1] == seen.parts[0].checks[1]

    def test_the_due_date_is_a_moment_wherever_one_is(self) -> None:
        elsewhere = timezone(timedelta(hours=-10))
        assert 3 == len(names(shown(FOUR, "student", LATE.astimezone(elsewhere))))
        assert 2 == len(names(shown(FOUR, "student", EARLY.astimezone(elsewhere))))

    @pytest.mark.parametrize("due", ["", "tomorrow", "2020-01-01T00:00:00", "2020-01-01"])
    def test_without_a_certain_due_date_that_stays_hidden(self, due: str) -> None:
        seen = shown(replace(FOUR, assignment=replace(FOUR.assignment, due=due)), "student", LATE)
        assert ["calls_visible", "calls_score_only"] == names(seen)
        assert not any("are shown from" in note.english for note in seen.notes)

    def test_points_without_the_reason(self) -> None:
        (_, seen) = shown(FOUR, "student", EARLY).parts[0].checks
        whole = FOUR.parts[0].checks[2]
        assert replace(whole, reason=foreign(""), hint=foreign("")) == seen

    def test_a_report_in_which_all_is_visible_is_itself(self) -> None:
        plain = sample_reports.typical()
        assert plain is shown(plain, "student", EARLY)


class TestSums:
    """Points of hidden checks are in no sum, nor is what they could have been."""

    def test_of_the_part_and_of_the_report(self) -> None:
        seen = shown(FOUR, "student", EARLY)
        assert (2.5, 5.0) == (seen.score, seen.max_score)
        assert (2.5, 5.0) == (seen.parts[0].score, seen.parts[0].max_score)

    def test_with_what_is_shown_later(self) -> None:
        seen = shown(FOUR, "student", LATE)
        assert (3.5, 7.0) == (seen.score, seen.max_score)

    def test_what_is_shown_does_not_depend_on_what_is_hidden(self) -> None:
        """Whatever became of a hidden check: byte by byte, students see the same."""

        def became(points: float, **rest: object) -> bytes:
            hidden = replace(check("hidden", "equivalence", 8.0), score=points, **rest)
            whole = report(
                part(check("visible"), check("score_only"), hidden),
                part(hidden, check("after_due"), name="other"),
            )
            return encode_report(shown(whole, "student", EARLY))

        assert became(0.0, verdict="failed", reason=foreign("Everything.")) == became(
            8.0, verdict="passed"
        )

    def test_points_are_rounded_as_elsewhere(self) -> None:
        parts = [check("visible", points=0.2), check("score_only", points=0.4), check("hidden")]
        assert (0.3, 0.6) == (only(*parts).score, only(*parts).max_score)


class TestParts:
    def test_a_part_without_a_check_to_show_is_not_shown(self) -> None:
        seen = shown(report(part(check("visible")), part(check("hidden"))), "student", EARLY)
        assert 1 == len(seen.parts)

    def test_where_everything_is_hidden_a_note_is_left(self) -> None:
        seen = only(check("hidden"), check("after_due"))
        assert () == seen.parts
        assert (0.0, 0.0) == (seen.score, seen.max_score)
        assert (KEPT_BACK, LATER) == seen.notes

    def test_a_graph_is_the_students_own(self) -> None:
        assert sample_reports.GRAPH == only(check("visible"), check("hidden")).parts[0].graph

    def test_a_part_that_never_had_a_check_stays(self) -> None:
        seen = shown(report(part(), part(check("hidden"))), "student", EARLY)
        assert ["part"] == [each.id for each in seen.parts]


class TestExplanations:
    """What explains a check is shown where that check is, in full."""

    @pytest.mark.parametrize("visibility", ["after_due", "score_only", "hidden"])
    def test_where_outputs_differ(self, visibility: Visibility) -> None:
        (seen,) = only(check(visibility, "equivalence"), check("visible")).parts
        assert (None, None) == (seen.diagnosis, seen.sample)

    @pytest.mark.parametrize("visibility", ["after_due", "score_only", "hidden"])
    @pytest.mark.parametrize("kind", ["speed", "schedule_steps", "target", "equivalence"])
    def test_the_scripts_of_a_schedule(self, kind: str, visibility: Visibility) -> None:
        """They are there where the module ran and its schedule was replayed."""
        (seen,) = only(check(visibility, kind), check("visible", "schedule_steps")).parts
        assert seen.scripts is None

    @pytest.mark.parametrize("visibility", ["after_due", "score_only", "hidden"])
    def test_the_times_of_a_schedule(self, visibility: Visibility) -> None:
        assert only(check(visibility, "speed"), check("visible")).timing is None

    def test_other_checks_may_be_hidden_beside_them(self) -> None:
        checks = [check("visible", each) for each in ("equivalence", "speed", "schedule_steps")]
        seen = only(*checks, check("hidden", "calls"))
        assert (DIAGNOSIS, SAMPLE, SCRIPTS) == (
            seen.parts[0].diagnosis,
            seen.parts[0].sample,
            seen.parts[0].scripts,
        )
        assert sample_reports.TIMING == seen.timing

    def test_what_is_there_for_a_hidden_check_alone(self) -> None:
        """A course's own check may have had the module run, or its schedule replayed."""
        seen = only(check("visible", "calls"), check("hidden", "of_the_course"))
        (left,) = seen.parts
        assert (None, None, None) == (left.diagnosis, left.sample, left.scripts)
        assert seen.timing is None

    def test_after_the_due_date_they_are_there(self) -> None:
        whole = report(part(check("after_due", "equivalence"), check("after_due", "speed")))
        assert whole == shown(whole, "student", LATE)

    def test_a_check_of_unknown_kind_may_be_the_one(self) -> None:
        seen = only(check("hidden", ""), check("visible", "equivalence"))
        (left,) = seen.parts
        assert (None, None, None) == (left.diagnosis, left.sample, left.scripts)
        assert seen.timing is None

    def test_a_part_that_is_shown_in_full_keeps_all_that_it_has(self) -> None:
        whole = part(check("visible", "of_the_course"))
        seen = shown(report(whole, part(check("hidden"))), "student", EARLY)
        assert (whole,) == seen.parts

    def test_of_one_part_they_do_not_hang_on_another(self) -> None:
        seen = shown(
            report(part(check("visible", "equivalence")), part(check("hidden", "equivalence"))),
            "student",
            EARLY,
        )
        assert DIAGNOSIS == seen.parts[0].diagnosis


class TestSeed:
    @pytest.mark.parametrize("visibility", ["after_due", "score_only", "hidden"])
    def test_it_is_kept_where_anything_is(self, visibility: Visibility) -> None:
        """With it, a student who has the course could draw the hidden inputs, and try."""
        assert 0 == only(check("visible"), check(visibility)).seed

    def test_otherwise_it_is_told(self) -> None:
        assert 42 == only(check("visible")).seed


class TestNotes:
    def test_that_there_is_more_and_when(self) -> None:
        seen = only(check("visible"), check("after_due"), notes=(foreign("earlier"),))
        assert (foreign("earlier"), KEPT_BACK, LATER) == seen.notes

    def test_of_hidden_checks_no_date_is_told(self) -> None:
        assert (KEPT_BACK,) == only(check("visible"), check("hidden")).notes

    def test_one_that_an_earlier_document_has_as_words_is_not_said_again(self) -> None:
        known = foreign(KEPT_BACK.in_("zh"))
        told = only(check("visible"), check("hidden"), language="zh", notes=(known,)).notes
        assert (known,) == told

    def test_that_there_are_reasons(self) -> None:
        assert (POINTS_ONLY,) == only(check("visible"), check("score_only")).notes


@pytest.mark.parametrize("now", [EARLY, LATE])
def test_what_is_shown_again_is_the_same(now: datetime) -> None:
    both = report(*FOUR.parts, part(check("score_only", "speed"), name="other"))
    once = shown(both, "student", now)
    assert once == shown(once, "student", now)


@pytest.mark.parametrize("visibility", ALL)
@pytest.mark.parametrize("kind", ["equivalence", "calls"])
def test_no_word_of_what_is_kept_back_is_left(visibility: Visibility, kind: str) -> None:
    """Neither of a hidden check nor, of one that is scored alone, why."""
    text = encode_report(only(check("visible", "low_level"), check(visibility, kind))).decode()
    name = f"{kind}_{visibility}"
    assert (visibility == "visible") == (f"The reason of {name}." in text)
    assert (visibility == "visible") == (f"The hint of {name}." in text)
    assert (visibility in ("visible", "score_only")) == (f"Title of {name}" in text)
