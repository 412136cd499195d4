"""Searching a space: what is drawn from it, and which trial takes the candidate's place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from grader.evidence.candidates import UNTIMED
from grader.evidence.case import Candidate, Problem, Search
from grader.evidence.replay import gather_replay
from grader.evidence.search import NOT_A_SPACE, Searched, gather_search
from grader.ir.trace import read_trace
from grader.messages import DrawTrials, RankTrials, TrialTimes
from tests.evidence import schedules, spaces
from tests.evidence.schedules import candidate, read_candidate


class Ranking(schedules.Runners):
    """Runners that say of the trials what they are told to."""

    def __init__(self, *seconds: float | None) -> None:
        super().__init__()
        self.seconds = seconds

    def request(self, kind: str, task: Any) -> Any:
        if not isinstance(task, RankTrials):
            return super().request(kind, task)
        self.tasks.append(task)
        return TrialTimes(self.seconds[: len(task.modules)])


def search(subject: Candidate, runners: Any = None, trials: int = 6) -> Searched:
    return gather_search(
        subject,
        spaces.arrangement(),
        spaces.SUBJECT,
        trials,
        runners or schedules.Runners(),
        np.random.default_rng(4),
    )


def space(steps: spaces.Space = spaces.tiled) -> Candidate:
    return candidate(spaces.product(), steps)


def test_the_fastest_trial_takes_the_candidates_place():
    runners = Ranking(3.0, 1.0, *[2.0] * 4)
    found = search(space(), runners)
    (ranked,) = (each for each in runners.tasks if isinstance(each, RankTrials))
    assert ranked.modules[1] == found.candidate.capture.module
    assert Search(6, 0, len(ranked.modules)) == found.search


def test_the_best_trial_is_a_schedule_that_can_be_proven():
    best = search(space()).candidate
    assert gather_replay(best, spaces.SUBJECT, (), schedules.Runners()).proven  # type: ignore[arg-type]
    assert read_trace(best.capture.trace or b"").draws


def test_modules_are_ranked_on_what_they_are_given_and_not_beside_answers():
    runners = schedules.Runners()
    search(space(), runners)
    (ranked,) = (each for each in runners.tasks if isinstance(each, RankTrials))
    assert (b"", {}) == (ranked.run.module, ranked.run.externs)
    assert {1} == {each.array.shape[0] for each in ranked.run.arguments}


class Forging(Ranking):
    """Runners whose first drawn module is none that may be run."""

    def request(self, kind: str, task: Any) -> Any:
        answer = super().request(kind, task)
        if isinstance(task, DrawTrials):
            first, *others = answer.trials
            answer = replace(answer, trials=(replace(first, module=b"{}"), *others))
        return answer


def test_no_module_is_run_that_was_not_read():
    runners = Forging(*[2.0] * 6)
    found = search(space(), runners)
    (ranked,) = (each for each in runners.tasks if isinstance(each, RankTrials))
    assert b"{}" not in ranked.modules
    assert isinstance(found.search, Search)
    assert found.search.different == len(ranked.modules) + 1


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
    assert isinstance(found.search, Problem)
    assert told in found.search.reason.english
    assert subject is found.candidate


def test_what_the_trace_does_not_give_is_not_searched():
    """A module that was changed by hand behind its trace would be searched as what it was."""
    one, other = space(), space(spaces.settled)
    made = read_candidate(other.capture.module, one.capture.base, one.capture.trace)
    runners = schedules.Runners()
    found = search(made, runners)
    assert isinstance(found.search, Problem)
    assert "differs" in found.search.reason.english
    assert not any(isinstance(each, DrawTrials) for each in runners.tasks)


def test_an_answer_about_other_trials_is_none():
    assert UNTIMED is search(space(), Ranking(1.0)).search
