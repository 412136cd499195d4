"""All answers of an assignment: an oracle for its model and one for each computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import numpy as np

from grader.assignment import Computation, PartTable
from grader.course import CourseAssignment
from grader.data import DataSet
from grader.errors import CourseError
from grader.evidence.case import FloatArray
from grader.evidence.cases import CaseOracle, Compute, course_function
from grader.evidence.oracle import ModelOracle, Oracle


@dataclass(frozen=True)
class Answers:
    """The oracles of one grading run: `model` is None where an assignment has no `[oracle]`.

    `module` is the course's `oracle.py`.
    `model_seed` draws the PyTorch models that importers are tried on.
    """

    module: ModuleType
    model: ModelOracle | None
    computations: Mapping[str, CaseOracle]
    model_seed: int = 0

    def of(self, part: PartTable) -> Oracle:
        """Return the oracle of a part."""
        if part.computation is not None:
            return self.computations[part.computation]
        assert self.model is not None  # an Assignment without [oracle] has no such part
        return self.model

    def workload(self, variant: str, *arrays: FloatArray) -> FloatArray:
        """Return the outputs of the timed function, with a leading axis like the first array."""
        result = self.module.expected_workload(variant, *(each.copy() for each in arrays))
        return cast(FloatArray, result)


def model_seed(seeds: np.random.SeedSequence) -> int:
    """Return the seed of the models that importers are tried on; the same at every call."""
    return int(seeds.generate_state(1)[0])


def load_answers(
    course_assignment: CourseAssignment, data: DataSet, seeds: np.random.SeedSequence
) -> Answers:
    """Import an assignment's oracle and compute all of its answers (seconds).

    Raises CourseError.
    """
    assignment = course_assignment.assignment
    drawn = model_seed(seeds)
    for_model, *for_computations = seeds.spawn(1 + len(assignment.computation))
    module = course_assignment.load_oracle()
    model = None
    if assignment.oracle is not None:
        model = ModelOracle(module, assignment.oracle, data, np.random.default_rng(for_model))
        _ = model.desired  # computed now, while nothing waits for it
    computations = {}
    for table, sequence in zip(assignment.computation, for_computations, strict=True):
        compute = (
            model_function(course_assignment, table, drawn)
            if table.model
            else course_function(module, table, data.parameters)
        )
        computations[table.id] = CaseOracle(table, compute, np.random.default_rng(sequence))
        _ = computations[table.id].desired
    return Answers(module, model, computations, drawn)


def model_function(
    course_assignment: CourseAssignment, computation: Computation, seed: int
) -> Compute:
    """Return what a PyTorch model of the course computes, in double precision."""
    import torch  # takes a second or two, which commands without answers need not wait for

    model = find_model(course_assignment, computation.model)(seed).double().eval()

    def compute(*arguments: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            cases = zip(*(torch.from_numpy(each).double() for each in arguments), strict=True)
            return np.stack([model(*case).numpy() for case in cases])

    return compute


def find_model(course_assignment: CourseAssignment, name: str) -> Callable[[int], Any]:
    """Return the function of `models.py` that makes a model from a seed. Raises CourseError."""
    models = getattr(course_assignment.load_models(), "MODELS", {})
    if name not in models:
        raise CourseError(
            f"models.py has no model called {name!r}.",
            f"MODELS has: {', '.join(sorted(models)) or 'nothing'}.",
        )
    found: Callable[[int], Any] = models[name]
    return found
