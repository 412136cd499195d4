"""The function that computes what is asked for is found by what it takes."""

from __future__ import annotations

import msgspec
import pytest

from grader.assignment import ArgumentTable, Computation, TensorTable
from grader.errors import CourseError
from grader.evidence.subject import NO_CONVOLUTION, NO_FUNCTION, Subject, find_function
from grader.ir.facts import BufferFacts, FunctionFacts, ModuleFacts, TensorFacts
from tests.evidence.factory import ORACLE, WEIGHT, argument, call, convolution, module, update
from tests.evidence.products import COMPUTATION, SHAPE, SUBJECT, Written, facts_of

ADDITION = Computation(
    id="broadcast-add",
    arguments=(ArgumentTable((4, 4), "int64", name="A"), ArgumentTable((4,), "int64", name="B")),
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


# --- subject --------------------------------------------------------------------------------------
# What a schedule is of: a convolution found by its weight, or the function of a computation.


CALL = call("tir", "conv2d", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT))
MODEL = module(CALL, functions={"conv2d": convolution(update())})
CONVOLUTION = Subject(WEIGHT, ORACLE)
PRODUCT = facts_of(Written)


class TestConvolution:
    def test_it_is_found_by_its_weight_and_takes_images_weight_and_bias(self):
        function = CONVOLUTION.find(MODEL)
        assert function is not None
        arrays = {"data": (4, 1, 28, 28), "weight": WEIGHT, "bias": (32,)}
        assert arrays == CONVOLUTION.arrays(function) == CONVOLUTION.example()

    def test_its_images_are_known(self):
        assert (0, 4) == CONVOLUTION.data(MODEL, MODEL.functions["conv2d"])

    def test_its_absence_is_told(self):
        assert CONVOLUTION.find(module()) is None
        assert NO_CONVOLUTION == CONVOLUTION.missing


class TestComputation:
    def test_it_is_the_function_that_takes_its_arguments(self):
        functions = {"conv2d": convolution(update()), "bmm_relu": PRODUCT}
        assert PRODUCT is SUBJECT.find(module(functions=functions))
        assert {"A": SHAPE, "B": SHAPE} == SUBJECT.arrays(PRODUCT) == SUBJECT.example()

    def test_an_argument_without_a_name_goes_by_its_place(self):
        first, second = COMPUTATION.arguments
        nameless = msgspec.structs.replace(first, name="")
        changed = msgspec.structs.replace(COMPUTATION, arguments=(nameless, second))
        assert {"argument0": SHAPE, "B": SHAPE} == Subject((), changed).example()

    def test_its_batch_is_not_known(self):
        assert SUBJECT.data(module(functions={"bmm_relu": PRODUCT}), PRODUCT) is None

    def test_its_absence_is_told(self):
        assert SUBJECT.find(MODEL) is None
        assert NO_FUNCTION == SUBJECT.missing


class TestCourse:
    def test_a_schedule_must_be_of_something(self):
        with pytest.raises(CourseError, match="no `weight`"):
            Subject((), ORACLE)

    @pytest.mark.parametrize(
        "outputs", [(TensorTable(SHAPE),) * 2, (TensorTable(SHAPE, dtype="bfloat16"),)]
    )
    def test_what_is_not_one_array_or_of_bfloat16_is_not_timed(self, outputs):
        with pytest.raises(CourseError, match="bmm_relu"):
            Subject((), msgspec.structs.replace(COMPUTATION, outputs=outputs))
