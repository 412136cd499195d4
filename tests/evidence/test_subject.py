"""What a schedule is of: a convolution found by its weight, or the function of a computation."""

from __future__ import annotations

import msgspec
import pytest

from grader.assignment import TensorTable
from grader.errors import CourseError
from grader.evidence.convolution import NO_CONVOLUTION
from grader.evidence.subject import NO_FUNCTION, Subject
from tests.evidence.factory import ORACLE, WEIGHT, argument, call, convolution, module, update
from tests.evidence.products import COMPUTATION, SHAPE, SUBJECT, Written, facts_of

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
        "outputs", [(TensorTable(SHAPE),) * 2, (TensorTable(SHAPE, dtype="int64"),)]
    )
    def test_what_is_not_one_array_of_floats_is_not_timed(self, outputs):
        with pytest.raises(CourseError, match="bmm_relu"):
            Subject((), msgspec.structs.replace(COMPUTATION, outputs=outputs))
