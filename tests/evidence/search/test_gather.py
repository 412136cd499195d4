"""Searching a space: what is drawn from it, and which trial takes the candidate's place."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from grader.evidence.candidates import UNTIMED
from grader.evidence.case import Candidate, Problem
from grader.evidence.oracle import Arrangement
from grader.evidence.plug import Choice, Question
from grader.evidence.replay import gather_replay
from grader.evidence.search.found import Search, SpaceOptions
from grader.evidence.search.gather import NOT_A_SPACE, search_space
from grader.evidence.search.inside.entry import perform
from grader.evidence.search.messages import DrawnTrials, DrawTrials, RankTrials, TrialTimes
from grader.ir.trace import read_trace
from grader.messages.evidence import Examine, Examined
from tests.evidence import schedules, spaces
from tests.evidence.factory import question
from tests.evidence.schedules import candidate, read_candidate


class Runners(schedules.Runners):
    """Runners that take down what they are asked of a space."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[DrawTrials | RankTrials] = []

    @property
    def ranked(self) -> RankTrials:
        """Return the one task of ranking."""
        (found,) = (each for each in self.asked if isinstance(each, RankTrials))
        return found

    def request(self, kind: str, task: Any) -> Any:
        if not isinstance(task, Examine):
            return super().request(kind, task)
        assert ("pure", "search") == (kind, task.kind)
        asked: Any = msgspec.msgpack.decode(task.task, type=DrawTrials | RankTrials)
        self.asked.append(asked)
        assert isinstance(asked, RankTrials) == task.timed
        return Examined.of("search", self.answer(asked))

    def answer(self, task: DrawTrials | RankTrials) -> DrawnTrials | TrialTimes:
        return perform(task)


class Ranking(Runners):
    """Runners that say of the trials what they are told to."""

    def __init__(self, *seconds: float | None) -> None:
        super().__init__()
        self.seconds = seconds

    def answer(self, task: DrawTrials | RankTrials) -> DrawnTrials | TrialTimes:
        if isinstance(task, RankTrials):
            return TrialTimes(self.seconds[: len(task.modules)])
        return super().answer(task)


class Asking(Question):
    """A question about a candidate that is called as the products are."""

    def arrangement(self) -> Arrangement:
        return spaces.arrangement()


def search(subject: Candidate, runners: Any = None, trials: int = 6) -> Choice[Search]:
    asked = question(
        subject, spaces.COMPUTATION, runners or Runners(), "", SpaceOptions(trials=trials)
    )
    fields = {each.name: getattr(asked, each.name) for each in dataclasses.fields(asked)}
    return search_space(Asking(**fields | {"generator": np.random.default_rng(4)}))


def space(steps: spaces.Space = spaces.tiled) -> Candidate:
    return candidate(spaces.product(), steps)


def test_the_fastest_trial_takes_the_candidates_place():
    runners = Ranking(3.0, 1.0, *[2.0] * 4)
    found = search(space(), runners)
    assert runners.ranked.modules[1] == found.candidate.capture.module
    assert Search(6, 0, len(runners.ranked.modules)) == found.found


def test_the_best_trial_is_a_schedule_that_can_be_proven():
    best = search(space()).candidate
    assert gather_replay(best, spaces.SUBJECT, (), schedules.Runners()).proven  # type: ignore[arg-type]
    assert read_trace(best.capture.trace or b"").draws


def test_modules_are_ranked_on_what_they_are_given_and_not_beside_answers():
    runners = Runners()
    search(space(), runners)
    assert (b"", {}) == (runners.ranked.run.module, runners.ranked.run.externs)
    assert {1} == {each.array.shape[0] for each in runners.ranked.run.arguments}


class Forging(Ranking):
    """Runners whose first drawn module is none that may be run."""

    def answer(self, task: DrawTrials | RankTrials) -> DrawnTrials | TrialTimes:
        answer = super().answer(task)
        if isinstance(answer, DrawnTrials):
            first, *others = answer.trials
            answer = replace(answer, trials=(replace(first, module=b"{}"), *others))
        return answer


def test_no_module_is_run_that_was_not_read():
    runners = Forging(*[2.0] * 6)
    found = search(space(), runners)
    assert b"{}" not in runners.ranked.modules
    assert isinstance(found.found, Search)
    assert found.found.different == len(runners.ranked.modules) + 1


def test_trials_that_could_not_be_run_are_passed_over():
    best = search(space(), Ranking(None, 5.0, None, None, None, None)).candidate
    assert best.capture.module != space().capture.module


@pytest.mark.parametrize(
    ("subject", "told"),
    [
        (space(spaces.settled), NOT_A_SPACE.reason.english),
        (space(spaces.impossible), "None of the 6 sampled schedules could be applied"),
    ],
)
def test_without_a_trial_the_candidate_stays_and_why_is_told(subject: Candidate, told: str):
    found = search(subject)
    assert isinstance(found.found, Problem)
    assert told in found.found.reason.english
    assert subject is found.candidate


def test_what_the_trace_does_not_give_is_not_searched():
    """A module that was changed by hand behind its trace would be searched as what it was."""
    one, other = space(), space(spaces.settled)
    made = read_candidate(other.capture.module, one.capture.base, one.capture.trace)
    runners = Runners()
    found = search(made, runners)
    assert isinstance(found.found, Problem)
    assert "differs" in found.found.reason.english
    assert [] == runners.asked


def test_an_answer_about_other_trials_is_none():
    assert UNTIMED is search(space(), Ranking(1.0)).found
