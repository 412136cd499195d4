"""What gradings share is made once."""

from __future__ import annotations

import json
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from grader.course import load_course
from grader.errors import SandboxError
from grader.evidence.oracle import ModelOracle
from grader.grading.preparation import Preparation, Settings, as_given, handout_cells
from grader.progress import Silent

# Which cells students were given.


ROOT = Path(__file__).parents[2]


def course(folder: Path, **notebooks: object) -> Path:
    """Return the folder of the assignment `hw` of a course with these templates."""
    (folder / "templates").mkdir()
    for name, content in notebooks.items():
        path = folder / "templates" / f"{name.replace('_', '.')}.ipynb"
        path.write_text(json.dumps(content), encoding="utf-8")
    return folder / "assignments" / "hw"


def of(*sources: object) -> dict[str, object]:
    return {"cells": [{"cell_type": "code", "source": source} for source in sources]}


def test_they_are_the_cells_of_the_templates_in_all_languages(tmp_path: Path) -> None:
    folder = course(tmp_path, hw=of("import tvm", ["a = 1\n", "b"]), hw_zh=of("# 第一"))
    assert {"import tvm", "a = 1\nb", "# 第一"} == handout_cells(folder)


def test_other_assignments_give_none(tmp_path: Path) -> None:
    assert frozenset() == handout_cells(course(tmp_path, hw2=of("a"), other=of("b")))


def test_an_empty_cell_is_nobodys(tmp_path: Path) -> None:
    assert frozenset() == handout_cells(course(tmp_path, hw=of("", " \n")))


def test_a_damaged_template_is_passed_over(tmp_path: Path) -> None:
    folder = course(tmp_path, hw=["no", "notebook"], hw_zh=of("a"))
    assert {"a"} == handout_cells(folder)


def test_a_course_without_templates_gives_nothing(tmp_path: Path) -> None:
    assert frozenset() == handout_cells(tmp_path / "assignments" / "hw")


def test_spaces_that_an_editor_changes_do_not_count() -> None:
    assert as_given("def f():\n    pass\n") == as_given("\ndef f():  \r\n    pass \n\n")
    assert as_given("def f():\n  pass") != as_given("def f():\n    pass")


def test_our_own_templates_are_read() -> None:
    assert len(handout_cells(ROOT / "assignments" / "e2e-conv")) > 20


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


def test_where_the_shell_allows_less_than_an_assignment_promises_nothing_is_graded() -> None:
    """A notebook that takes what it was promised would be told that it had taken too much."""
    small = COURSE.get("small")
    limits = replace(small.assignment.limits, memory_mb=2**21)
    large = replace(small, assignment=replace(small.assignment, limits=limits))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (2**40, hard))
    try:
        with pytest.raises(SandboxError, match="only 1048576 MB of memory"):
            Preparation(large, prepare().settings)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
