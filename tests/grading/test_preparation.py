"""What gradings share is made once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from grader.course import load_course
from grader.evidence.oracle import ModelOracle
from grader.grading.preparation import Preparation, Settings
from grader.progress import Silent

COURSE = load_course(Path(__file__).parents[1] / "courses" / "small")


def prepare(seed: int = 7) -> Preparation:
    settings = Settings(sandbox=None, seed=seed)  # type: ignore[arg-type]  nothing is started
    return Preparation(COURSE.get("small"), settings)


def test_any_number_of_threads_get_the_same_data_and_answers() -> None:
    prepared, barrier = prepare(), threading.Barrier(4)

    def ask(_: int) -> tuple[int, int]:
        barrier.wait(20)
        data = prepared.data(Silent())
        return id(data), id(prepared.answers(data).result())

    with ThreadPoolExecutor(4) as executor:
        assert 1 == len(set(executor.map(ask, range(4))))


def model_of(prepared: Preparation) -> ModelOracle:
    """Return the answers for the model of an assignment that has one."""
    model = prepared.answers(prepared.data(Silent())).result().model
    assert model is not None
    return model


def test_the_seed_decides_the_hidden_inputs() -> None:
    first, same, other = (
        model_of(prepared).inputs for prepared in (prepare(7), prepare(7), prepare(8))
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_every_grading_draws_the_same_for_its_parts() -> None:
    """A sequence that was shared would give each grading other numbers."""
    prepared = prepare()
    drawn = [prepared.part_seeds().spawn(2)[1].generate_state(4).tolist() for _ in range(2)]
    assert drawn[0] == drawn[1]


def test_what_gradings_share_cannot_be_written_to() -> None:
    prepared = prepare()
    oracle = model_of(prepared)
    for array in (oracle.inputs, oracle.desired):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_settings_have_a_quiet_of_their_own_unless_they_share_one() -> None:
    assert prepare().settings.quiet is not prepare().settings.quiet
