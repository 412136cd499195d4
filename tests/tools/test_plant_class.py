"""Classes with mistakes and copies in them: the same for a seed, and what is planted is there."""

from __future__ import annotations

import ast
import json
import random
from pathlib import Path

import pytest
from plant_class import KINDS, PlantedStudent, copied, make_class, notebook_of, write_class
from planted_notebooks import ERRORS, MISTAKES, WritingPlan, write

from grader.cli.class_reports import ClassOptions
from grader.cli.insights import class_insights
from tests.endtoend.command import ROOT
from tests.endtoend.warm import run_warm


def test_a_seed_makes_one_class_and_another_seed_another() -> None:
    assert make_class(12, 6, seed=3) == make_class(12, 6, seed=3)
    assert make_class(12, 6, seed=3) != make_class(12, 6, seed=4)


def test_what_is_planted_is_written_beside_the_notebooks(tmp_path: Path) -> None:
    made = make_class(12, 6)
    write_class(made, tmp_path)
    planted = json.loads((tmp_path / "planted.json").read_text())
    assert [each.id for each in made.students] == [each["student"] for each in planted]
    assert list(KINDS) == [each["how"] for each in planted if each["source"]]
    for each in made.students:
        content = (tmp_path / "submissions" / each.id / "hw.ipynb").read_bytes()
        assert notebook_of(each) == content
    ranked = (tmp_path / "consent.csv").read_text().splitlines()[1:]
    assert {line.rstrip(",") for line in ranked} < {each.id for each in made.students}


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_is_written_otherwise_and_has_the_same_names_for_the_grader(kind: str) -> None:
    plan = WritingPlan(7, schedule=True)
    own, copy = write(plan), copied(plan, kind, random.Random(0))
    texts = [each.source for each in own if not each.given]
    others = [each.source for each in copy if not each.given]
    assert texts != others
    bound = "\n".join(others)
    for name in ("def create_model_via_emit_te", "def create_model_with_torch_func", "sch = "):
        assert name in bound
    for source in others:
        ast.parse(source)


@pytest.mark.graded
def test_what_is_planted_is_what_is_told(tmp_path: Path) -> None:
    """A mistake in a copy of each kind, each with an error in a cell."""
    mistakes = random.Random(0).sample(MISTAKES, len(KINDS))
    planted = {}
    for number, (kind, mistake) in enumerate(zip(KINDS, mistakes, strict=True)):
        plan = WritingPlan(number, mistake, [*ERRORS][number % len(ERRORS)])
        made = copied(plan, kind, random.Random(number))
        path = tmp_path / "class" / kind / "hw.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook_of(PlantedStudent(kind, made, plan)))
        planted[kind] = plan
    options = ("--output", "reports", "--course", ROOT, "--data", "builtin")
    done = run_warm(("batch", "class", *options), tmp_path)
    assert 0 == done.returncode, done.stderr
    (told,) = class_insights(ClassOptions(reports=tmp_path / "reports")).values()
    assert {(kind, plan.mistake) for kind, plan in planted.items()} == {
        (who, row.mistake) for row in told.mistakes for who in row.students
    }
    assert {(kind, plan.error) for kind, plan in planted.items()} == {
        (who, row.error) for row in told.failures for who in row.students
    }
