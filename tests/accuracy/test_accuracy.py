"""The step that a diagnosis names is the one with the mistake, for nine mutants of ten and more.

The mistakes of the example submissions are in their verdict files, and compared in
tests/endtoend/test_examples.py.
"""

from __future__ import annotations

import pytest

from grader.environment import usable_cores
from grader.language import foreign
from grader.report import Diagnosis, Step
from grader.sandbox.interface import Sandbox
from tests.accuracy.accuracy import BAR, SLUGS, Found, Trial, share
from tests.accuracy.made import mistaken
from tests.endtoend.examples import EXAMPLES
from tests.expectation import load_expectation

EACH = 4
"""One mutant in so many is tried here; benchmarks/diagnosis.py tries all."""


@pytest.mark.graded
@pytest.mark.parametrize("slug", SLUGS)
def test_of_nine_mutants_in_ten_the_right_step_is_named(slug: str, sandbox: Sandbox) -> None:
    """Where there is but one step, it is right to name it: that alone does not reach the bar."""
    found = Trial(slug, sandbox, usable_cores(), EACH).diagnosed()
    missed = [str(each) for each in found if not each.is_right]
    assert share(each.is_right for each in found) >= BAR, missed
    assert share(each.is_right for each in found if each.has_choice) >= BAR, missed


def test_each_example_with_wrong_outputs_says_where_it_departs() -> None:
    silent = [
        f"{name}: {part}"
        for name, path in EXAMPLES.items()
        for part, expected in load_expectation(path).part.items()
        if expected.check.get("equivalence") == "failed" and expected.diagnosis is None
    ]
    assert [] == silent


def found(named: int, kind: str = "drop_bias", binding: str = "lv1", *variables: str) -> Found:
    """A diagnosis that names a step, of a mutant whose first wrong value is `binding`'s."""
    steps = tuple(
        Step(name, "f", (1,), "right") for name in variables or ("lv", "lv1", "exact", "half")
    )
    diagnosis = Diagnosis(steps, named, foreign(""), None, "bias_missing", foreign(""), foreign(""))
    return Found(mistaken(kind, binding), diagnosis)


class TestRight:
    def test_the_binding_alone_is_right(self) -> None:
        assert found(1).is_right
        assert not found(0).is_right
        assert not found(2).is_right

    def test_no_diagnosis_is_wrong_and_had_a_choice(self) -> None:
        silent = Found(mistaken("drop_bias", ""), None)
        assert not silent.is_right
        assert silent.has_choice

    def test_where_the_function_is_all_there_is_it_is_right(self) -> None:
        assert found(0, "drop_bias", "").is_right

    def test_one_step_is_no_choice(self) -> None:
        assert not found(0, "drop_bias", "lv", "lv").has_choice
        assert found(0).has_choice

    def test_the_rounding_that_was_put_before_a_binding_belongs_to_it(self) -> None:
        variables = ("exact", "half", "lv", "exact", "half", "lv1")
        right = [found(n, "float16", "lv1", *variables).is_right for n in range(6)]
        assert [False, False, False, True, True, True] == right
        assert not found(4, "drop_bias", "lv1", *variables).is_right

    def test_a_mistake_is_recognised_as_what_it_is(self) -> None:
        assert found(1, "drop_bias").is_recognised
        assert not found(1, "flip_kernel").is_recognised

    def test_what_was_missed_is_told(self) -> None:
        said = str(found(0))
        assert "drop_bias" in said
        assert "lv is named in place of lv1" in said
