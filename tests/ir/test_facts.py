"""Symbolic shapes of a `main` are those that it is called with."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from grader.ir.facts import BufferFacts, ModuleFacts, TensorFacts, bind_symbols
from tests.evidence.factory import argument, call, module

WANTED = ((None, 784), (128, 784))


def facts_of_main(*shapes: tuple[int | str, ...]) -> ModuleFacts:
    used = argument("input", *shapes[-1])
    made = call("tir", "linear", used, result=(1, *shapes[-1][:1]))
    inputs = tuple(
        BufferFacts(f"x{n}", TensorFacts(each, "float32")) for n, each in enumerate(shapes)
    )
    return replace(module(made), has_main=True, inputs=inputs)


def test_symbols_become_the_extents_of_the_call() -> None:
    bound = bind_symbols(facts_of_main((1, "m"), ("n", "m")), WANTED)
    assert [(1, 784), (128, 784)] == [each.tensor.shape for each in bound.inputs]
    (made,) = bound.calls
    assert made.arguments[0].tensor is not None
    assert made.result is not None
    assert ((128, 784), (1, 128)) == (made.arguments[0].tensor.shape, made.result.shape)


def test_a_batch_that_is_free_stays_a_symbol() -> None:
    bound = bind_symbols(facts_of_main(("b", "m"), ("n", "m")), WANTED)
    assert ("b", 784) == bound.inputs[0].tensor.shape


@pytest.mark.parametrize(
    "shapes",
    [
        ((1, "m"),),
        ((1, "m"), ("n", "n")),
        ((1, "m"), ("n", 783)),
        ((1, "m"), ("n",)),
        ((1, 784), (128, 784)),
    ],
    ids=["fewer", "two extents for one", "another extent", "another rank", "none"],
)
def test_what_does_not_fit_stays_as_it_is(shapes: tuple[tuple[int | str, ...], ...]) -> None:
    given = facts_of_main(*shapes)
    assert given is bind_symbols(given, WANTED)


def test_an_extent_that_is_no_variable_is_not_bound() -> None:
    bound = bind_symbols(facts_of_main((1, "?"), ("n", 784)), WANTED)
    assert [(1, "?"), (128, 784)] == [each.tensor.shape for each in bound.inputs]


def test_inputs_are_kept_as_they_were_declared_where_symbols_were_bound() -> None:
    given = facts_of_main((1, "m"), ("n", "m"))
    assert given.declared is None
    assert given.inputs == bind_symbols(given, WANTED).declared
