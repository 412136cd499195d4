"""Mutants of functions in NumPy: their text, and what it computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.assignment import PartTable
from grader.authoring.mutants_python import PythonMutant, python_mutants

PART = PartTable(
    id="layer",
    title="A layer",
    entry_kind="python",
    entry=("layer",),
    check=(),
    computation="layer",
)
HELPER = """
def product(x, w):
    total = np.zeros((x.shape[0], w.shape[0]), x.dtype)
    for i in range(x.shape[0]):
        for j in range(w.shape[0]):
            for k in range(x.shape[1]):
                total[i, j] += x[i, k] * w[j, k]
    return total
"""
LAYER = """
def layer(x, w, b):
    return product(x, w) + b
"""
WRITING = """
def layer(x, w, b, out):
    out[...] = x @ w.T + b
"""
X = np.arange(6, dtype="float32").reshape(2, 3) + 1
W = np.arange(12, dtype="float32").reshape(4, 3) / 7
B = np.ones(4, "float32")


def made(*sources: str) -> dict[str, list[PythonMutant]]:
    found: dict[str, list[PythonMutant]] = {}
    for each in python_mutants(sources, PART, 4):
        found.setdefault(each.mutation.kind, []).append(each)
    return found


def run(mutant: PythonMutant, *arguments: np.ndarray) -> np.ndarray:
    namespace: dict[str, Any] = {"np": np}
    exec(mutant.cell, namespace)
    result = namespace["layer"](*arguments)
    return arguments[-1] if result is None else result


def test_each_mutant_has_one_mistake() -> None:
    mutants = made("import numpy as np", HELPER, LAYER)
    right = X @ W.T
    np.testing.assert_allclose(right, run(mutants["drop_bias"][0], X, W, B), rtol=1e-6)
    np.testing.assert_allclose(
        X[:, :2] @ W[:, :2].T + B, run(mutants["off_by_one"][0], X, W, B), rtol=1e-6
    )
    assert not run(mutants["return_zeros"][0], X, W, B).any()
    assert np.array_equal(np.resize(X, (2, 4)), run(mutants["return_input"][0], X, W, B))
    rounded = run(mutants["float16"][0], X, W, B)
    assert np.array_equal((right + B).astype("float16").astype("float32"), rounded)


def test_a_mutation_names_the_function_that_was_changed() -> None:
    mutants = made(HELPER, LAYER)
    assert "product" == mutants["off_by_one"][0].mutation.function
    assert "layer" == mutants["drop_bias"][0].mutation.function


def test_a_sum_in_a_loop_is_no_bias() -> None:
    assert ["layer"] == [each.mutation.function for each in made(HELPER, LAYER)["drop_bias"]]


def test_what_is_written_into_the_last_argument_is_changed_there() -> None:
    mutants = made(WRITING)
    out = np.full((2, 4), np.nan, "float32")
    assert not run(mutants["return_zeros"][0], X, W, B, out).any()
    rounded = run(mutants["float16"][0], X, W, B, np.empty((2, 4), "float32"))
    assert np.array_equal((X @ W.T + B).astype("float16").astype("float32"), rounded)


def test_of_several_definitions_the_last_one_counts() -> None:
    mutants = made(HELPER, "def layer(x): return x", LAYER)
    assert "product(x, w)" in mutants["drop_bias"][0].cell


def test_a_notebook_without_the_function_has_no_mutants() -> None:
    assert {} == made(HELPER, "%pip install x", "other = 1")
