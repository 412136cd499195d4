"""What a space of schedules earns."""

from __future__ import annotations

import pytest

from grader.evidence.case import Problem
from grader.evidence.search.checks import check_space
from grader.evidence.search.found import Search, SpaceOptions
from grader.language import foreign
from tests.evidence.factory import case, module


class TestSearchSpace:
    OPTIONS = SpaceOptions(trials=16, different=8)

    def judge(self, search):
        search = {} if search is None else {"search": search}
        return check_space(case(module(), found=search), self.OPTIONS)

    @pytest.mark.parametrize(
        ("different", "verdict", "fraction"),
        [(8, "passed", 1), (16, "passed", 1), (2, "partial", 1 / 7), (1, "failed", 0)],
    )
    def test_different_programs_are_counted(self, different, verdict, fraction):
        outcome = self.judge(Search(16, 0, different))
        assert (verdict, fraction) == (outcome.verdict, outcome.fraction)

    def test_what_was_drawn_is_told(self):
        assert "Not applicable: 3." in self.judge(Search(16, 3, 9)).reason.english

    def test_what_is_no_space_gets_nothing(self):
        problem = Problem(foreign("Nothing is drawn."), foreign("Draw."), code="unmet")
        outcome = self.judge(problem)
        assert ("failed", "Nothing is drawn.", "Draw.") == (
            outcome.verdict,
            outcome.reason.english,
            outcome.hint.english,
        )

    @pytest.mark.parametrize("search", [None, Problem(foreign("Busy."), again=True)])
    def test_what_was_not_searched_is_not_graded(self, search):
        assert "not_graded" == self.judge(search).verdict

    def test_more_programs_than_are_drawn_cannot_be_asked_for(self):
        with pytest.raises(ValueError, match="9 different programs"):
            SpaceOptions(trials=8, different=9)
