"""Verdict files: what an example must get, compared with what it got."""

from __future__ import annotations

import msgspec
import pytest

from grader.language import foreign
from grader.report import CellProblem, Check, Diagnosis, Part, Step
from tests.expectation import Expectation, load_expectation, mismatches
from tests.sample_reports import typical

CHECKS = (
    Check("structure", foreign("Structure"), 10.0, 10.0, "passed", foreign("Eleven calls.")),
    Check("equivalence", foreign("Outputs"), 0.0, 30.0, "failed", foreign("All images differ.")),
)
DIAGNOSIS = Diagnosis(
    (Step("lv", "conv2d", (4, 32), "right"), Step("lv1", "relu", (4, 32), "wrong")),
    wrong=1,
    layer=foreign("conv2d"),
    wanted=None,
    mistake="bias_missing",
    message=foreign("The bias is missing."),
    advice=foreign("Add it."),
)
REPORT = msgspec.structs.replace(
    typical(),
    score=10.0,
    parts=(
        Part("emit_te", foreign("The model"), 10.0, 40.0, CHECKS, diagnosis=DIAGNOSIS),
        Part("extern", foreign("An extern"), 0.0, 20.0, ()),
    ),
    problems=(CellProblem(3, "AssertionError", "differs"),),
)


def compare(text):
    return mismatches(msgspec.toml.decode(text.encode(), type=Expectation), REPORT)


def test_nothing_said_is_nothing_compared():
    assert compare('about = "x"') == ()


def test_all_that_is_said_may_hold():
    assert (
        compare(
            """
        about = "The bias is forgotten."
        score = { min = 10, max = 70 }
        problems = [3]
        [part.emit_te]
        score = 10
        reason_contains = ["images differ", "Eleven"]
        [part.emit_te.check]
        structure = "passed"
        equivalence = "failed"
        [part.emit_te.diagnosis]
        step = "lv1"
        mistake = "bias_missing"
        """
        )
        == ()
    )


def test_a_mistake_need_not_be_said():
    assert () == compare('about = "x"\npart.emit_te.diagnosis.step = "lv1"')


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("score = 11", "the submission got 10 points, expected at least 11"),
        ("score = 9.5", "the submission got 10 points, expected at most 9.5"),
        ("score = { min = 10.5 }", "the submission got 10 points, expected at least 10.5"),
        ("score = { max = 9 }", "the submission got 10 points, expected at most 9"),
        ("problems = []", "cells [3] failed, expected []"),
        ("problems = [3, 4]", "cells [3] failed, expected [3, 4]"),
        ("part.emit_te.score = { max = 9 }", "emit_te got 10 points, expected at most 9"),
        ("part.emit_te.reason_contains = ['bias']", "no reason of emit_te contains 'bias'"),
        ("part.emit_te.advice_contains = ['Sum']", "no advice of emit_te contains 'Sum'"),
        (
            "part.emit_te.check.equivalence = 'passed'",
            "emit_te/equivalence is failed, expected passed: 'All images differ.'",
        ),
        ("part.emit_te.check.speed = 'passed'", "emit_te has no check speed"),
        ("part.schedule.score = 0", "there is no part schedule"),
        (
            "part.emit_te.diagnosis.step = 'lv'",
            "lv1 of emit_te is said to depart, expected lv",
        ),
        (
            "part.emit_te.diagnosis = { step = 'lv1', mistake = 'padding' }",
            "the mistake in emit_te is said to be bias_missing, expected padding",
        ),
        ("part.extern.diagnosis.step = 'lv'", "extern has no diagnosis, expected one of lv"),
    ],
)
def test_a_mismatch_is_one_sentence_that_names_it(said, found):
    assert (found,) == compare(f'about = "x"\n{said}')


def test_every_mismatch_is_told():
    assert len(compare('about = "x"\nscore = 5\nproblems = []\npart.emit_te.score = 5')) == 3


def test_sums_of_decimal_fractions_count_as_equal():
    report = msgspec.structs.replace(REPORT, score=0.1 + 0.2)
    assert mismatches(Expectation(about="x", score=0.3), report) == ()


class TestFile:
    def test_is_read(self, tmp_path):
        path = tmp_path / "x.verdict.toml"
        path.write_text('about = "x"\nscore = 10')
        assert Expectation(about="x", score=10.0) == load_expectation(path)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("score = 1", "about"),
            ('about = "x"\nscor = 1', "scor"),
            ('about = "x"\nscore = { minimum = 1 }', "minimum"),
            ('about = "x"\npart.emit_te.check.speed = "good"', "good"),
            ("about = ", "x.verdict.toml"),
        ],
    )
    def test_is_decoded_strictly(self, tmp_path, text, message):
        path = tmp_path / "x.verdict.toml"
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            load_expectation(path)
