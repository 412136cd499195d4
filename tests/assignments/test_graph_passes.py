"""The models and the oracle of graph-passes: what passes meet, and what is right."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from torch import fx

from grader.course_code import import_file
from tests.our_course import our_course

CHOSEN = our_course().get("graph-passes")
COMPUTATIONS = {each.id: each for each in CHOSEN.assignment.computation}
ORACLE = import_file(CHOSEN.file("oracle.py"), "oracle")
MODELS = import_file(CHOSEN.file("models.py"), "models").MODELS
OPERATORS = {"matmul": "relax.matmul", "add": "relax.add", "relu": "relax.nn.relu"}
FUSED = [each for each in CHOSEN.assignment.part if each.id.startswith("fuse_")]


def arguments(name: str, cases: int = 2) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    shapes = [(cases, *each.shape) for each in COMPUTATIONS[name].arguments]
    return [generator.standard_normal(shape).astype("float32") for shape in shapes]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, 2**47 + 3])
def test_the_shapes_of_models_are_those_of_the_assignment(name: str, seed: int) -> None:
    shapes = [each.shape for each in COMPUTATIONS[name].arguments]
    output = MODELS[name](seed)(*map(torch.ones, shapes))
    assert COMPUTATIONS[name].outputs[0].shape == tuple(output.shape)


@pytest.mark.parametrize("name", MODELS)
def test_widths_and_weights_of_a_model_are_drawn_from_the_seed(name: str) -> None:
    one, same, other = (MODELS[name](seed).state_dict() for seed in (7, 7, 8))
    assert all(torch.equal(value, same[key]) for key, value in one.items())
    assert {key: each.shape for key, each in one.items()} != {
        key: each.shape for key, each in other.items()
    }


@pytest.mark.parametrize("part", FUSED, ids=lambda part: part.id)
def test_all_operators_are_in_a_group_or_left(part) -> None:
    """A count that is off by one would refuse every right pass, or let a wrong one through."""
    fused, left = (check.options for check in part.check[:2])
    graph = fx.symbolic_trace(MODELS[COMPUTATIONS[part.computation].model](0)).graph
    names = (getattr(node.target, "__name__", "") for node in graph.nodes)
    calls = Counter(OPERATORS[name] for name in names if name in OPERATORS)
    grouped = Counter(name for group in fused["groups"] for name in group)
    assert calls == grouped + Counter(left["counts"])


def test_two_layers_are_those_of_the_text() -> None:
    x, w0, b0, w1, b1 = each = arguments("two_layers", 1)
    hidden = np.maximum(x[0].astype(float) @ w0[0] + b0[0], 0)
    np.testing.assert_allclose(ORACLE.two_layers({}, *each)[0], hidden @ w1[0] + b1[0])


@pytest.mark.parametrize("name", ["centered", "centered_sizes"])
def test_cases_are_batches_of_other_sizes_than_are_drawn(name: str) -> None:
    table = COMPUTATIONS[name]
    for each in table.case:
        given = ORACLE.inputs(0, each.name)
        extents = table.extents_of([given[one.name].shape for one in table.arguments])
        assert extents is not None and extents != table.extents


@pytest.mark.parametrize("name", ["centered", "centered_sizes"])
def test_the_mean_over_the_batch_is_taken(name: str) -> None:
    x, w, b = given = arguments(name)
    for case, found in enumerate(getattr(ORACLE, name)({}, *given)):
        positive = np.maximum(x[case].astype(float) @ w[case] + b[case], 0)
        np.testing.assert_allclose(positive - positive.mean(axis=0), found, atol=1e-12)
