"""The function that computes what is asked for is found by what it takes."""

from __future__ import annotations

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.evidence.functions import find_function
from grader.ir.facts import BufferFacts, FunctionFacts, ModuleFacts, TensorFacts

ADDITION = Computation(
    id="broadcast-add",
    arguments=(ArgumentTable((4, 4), "int64", "A"), ArgumentTable((4,), "int64", "B")),
    outputs=(TensorTable((4, 4), "int64"),),
)


def function(name: str, *tensors: tuple[tuple[int, ...], str]) -> FunctionFacts:
    parameters = tuple(
        BufferFacts(f"p{place}", TensorFacts(shape, dtype))
        for place, (shape, dtype) in enumerate(tensors)
    )
    return FunctionFacts(name=name, parameters=parameters, allocations=(), blocks=())


def fitting(name: str) -> FunctionFacts:
    return function(name, ((4, 4), "int64"), ((4,), "int64"), ((4, 4), "int64"))


def find(*functions: FunctionFacts) -> str | None:
    facts = ModuleFacts(
        has_main=False,
        inputs=(),
        output=None,
        calls=(),
        functions={each.name: each for each in functions},
        externs=(),
        findings=(),
    )
    found = find_function(facts, ADDITION)
    return None if found is None else found.name


def test_whatever_it_is_called() -> None:
    assert "f" == find(function("add", ((4, 4), "int64")), fitting("f"))


def test_of_several_the_one_with_the_computations_name() -> None:
    assert "broadcast_add" == find(fitting("f"), fitting("broadcast_add"), fitting("g"))
    assert "f" == find(fitting("f"), fitting("g"))


def test_another_order_or_dtype_is_another_function() -> None:
    assert find(function("add", ((4,), "int64"), ((4, 4), "int64"), ((4, 4), "int64"))) is None
    assert find(function("add", ((4, 4), "int32"), ((4,), "int64"), ((4, 4), "int64"))) is None
    assert find() is None
