"""What is compiled before a grading has its turn to time: others stand still in that."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.evidence.candidates import inspect
from grader.evidence.case import Candidate, Case, Evidence, LargerBatch, Replay
from grader.evidence.runners import Kind
from grader.grading.judge import Graded
from grader.grading.needs import timing_setup
from grader.grading.referee import Compared, Referee
from grader.language import Text, foreign
from grader.messages.kernel import Capture
from grader.messages.timing import TimeSchedule
from grader.progress import Silent
from grader.report import Check, Part
from tests.inside.runner import modules
from tests.our_course import our_course

ROOT = Path(__file__).parents[2]
CHOSEN = our_course().get("e2e-conv")
FIRST, _, PART = CHOSEN.assignment.part
MODEL, _ = modules.classifier()
NOTHING: Any = None
CAPTURE = Capture(PART.id, "sch", 3, by_name=True, module=modules.document(MODEL))


class Told:
    """In the place of a pool: what it is told, in order."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.tasks: list[TimeSchedule] = []

    def build(self, part: str, kind: Kind, task: TimeSchedule) -> None:
        self.events.append(("build", part, kind))
        self.tasks.append(task)

    def settle(self, needed: Kind, parts: Collection[str]) -> None:
        self.events.append(("settle", needed, *parts))


@pytest.fixture(scope="module")
def candidate() -> Candidate:
    found = inspect(PART, CAPTURE)
    assert isinstance(found, Candidate)
    return found


def graded(candidate: Candidate, replay: Replay | None = None, *checks: Check) -> Graded:
    part = Part(PART.id, PART.named, 0.0, PART.points, checks)
    case = Case(candidate, Evidence(replay=replay), CHOSEN.assignment.comparison(PART))
    return Graded(part, CAPTURE, case)


def told(compared: Compared) -> Told:
    told: Any = Told()
    seeds = np.random.SeedSequence(7)
    Referee(CHOSEN, NOTHING, told, seeds, NOTHING, Silent()).compile_timed(compared)
    return told


def test_a_schedule_is_compiled_and_then_nothing_runs(candidate: Candidate) -> None:
    done = told([(PART, [graded(candidate)])])
    assert [("build", PART.id, "timing"), ("settle", "timing", PART.id)] == done.events
    (task,) = done.tasks
    assert [CAPTURE.module] == [each.module for each in task.shapes]


def test_so_is_it_at_the_larger_batches_that_are_proven(candidate: Candidate) -> None:
    setup = timing_setup(CHOSEN, PART, NOTHING, NOTHING)
    facts = setup.subject.find(candidate.facts)
    assert facts is not None
    replay = Replay(proven=True, larger=(LargerBatch(b"larger", facts.name, facts),))
    (task,) = told([(PART, [graded(candidate, replay)])]).tasks
    assert [CAPTURE.module, b"larger"] == [each.module for each in task.shapes]


def test_a_part_that_is_not_timed_is_not(candidate: Candidate) -> None:
    done = told([(FIRST, [graded(candidate)]), (PART, [graded(candidate)])])
    assert [("build", PART.id, "timing"), ("settle", "timing", PART.id)] == done.events


def test_of_several_candidates_the_first_that_is_timed(candidate: Candidate) -> None:
    required = next(each.id for each in PART.check if each.required)
    failed = Check(required, foreign("a condition"), 0.0, 0.0, "failed", foreign("no"))
    other = Capture(PART.id, "other", 4, by_name=True, module=CAPTURE.module + b" ")
    second = inspect(PART, other)
    assert isinstance(second, Candidate)
    blocked = graded(candidate, None, failed)
    (task,) = told([(PART, [blocked, graded(second)])]).tasks
    assert [other.module] == [each.module for each in task.shapes]


def test_a_refused_schedule_that_is_told_first_keeps_no_module_from_its_time(
    candidate: Candidate,
) -> None:
    """Where only the time earns points, the refused one has as many as the fastest before it."""
    refused = Graded(graded(candidate).part, CAPTURE, None, fits=False)
    assert [("build", PART.id, "timing"), ("settle", "timing", PART.id)] == told(
        [(PART, [refused, graded(candidate)])]
    ).events
    assert [("settle", "timing")] == told([(PART, [refused])]).events


def test_its_stage_has_the_parts_title_in_the_readers_language(
    candidate: Candidate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Referee, "_time", lambda *_: [])
    stages: list[Text] = []

    class Heard(Silent):
        def stage(self, name: Text, *, waits: bool = False) -> None:
            stages.append(name)

    seeds = np.random.SeedSequence(7)
    referee = Referee(CHOSEN, NOTHING, NOTHING, seeds, NOTHING, Heard())
    referee.time([(PART, [graded(candidate)])])
    assert [f"测量时间：{PART.title_in('zh')}"] == [each.in_("zh") for each in stages]
