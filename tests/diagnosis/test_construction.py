"""Why a module could not be built, and the usual cause of such an error."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import nn
from tvm import relax, topi

from grader.assignment import PartTable
from grader.diagnosis.construction import NAMES, usual_cause
from grader.evidence.candidates import inspect
from grader.evidence.case import Problem
from grader.evidence.recorder import record
from grader.execute.known_errors import recognise
from grader.grading.absence import explain_absence
from grader.language import NOTHING
from grader.messages.kernel import Capture, CaptureFailure
from tests.diagnosis import network
from tests.ir import modules

PART = PartTable(id="p", title="", entry_kind="module", entry=("MyConv", "MyC*"), check=())
LENGTHS = "Reduction dimensions of dense do not match. {} vs {}."

ERRORS = {
    "Pooling padding_size must has double elements of kernel": "four numbers",
    "Cannot convert from type `te.Tensor` to `bool`": "takes no bias",
    "shape is only available on a Var with BufferType": "separately",
    "Index out of range. size: 2, got index 2": "no such axis",
    "nested op_tag is not allowed for now": "first error",
    "In relax.nn.softmax, the input axis 2 is out of range.": "no such axis",
}


def find(path: str) -> object:
    """Return what a dotted name of TOPI or Relax stands for."""
    root, *rest = path.partition("(")[0].split(".")
    return functools.reduce(getattr, rest, {"topi": topi, "relax": relax}[root])


class TestCause:
    def test_each_name_that_is_recommended_is_there_and_the_other_one_is_not(
        self, subtests: pytest.Subtests
    ) -> None:
        for name, recommended in NAMES.items():
            with subtests.test(name):
                assert callable(find(recommended))
                with pytest.raises(AttributeError) as caught:
                    find(name)
                known = recognise("AttributeError", str(caught.value))
                assert recommended in usual_cause(known).english

    def test_a_padding_too_many_is_found_by_the_length_of_a_row(self) -> None:
        told = usual_cause(recognise("AssertionError", LENGTHS.format(75, 48)), network.layers)
        assert "PyTorch has 48 there, after flatten, not 75" in told.english
        assert "padding is 1; it should be 0" in told.english

    def test_a_pooling_that_is_missing_goes_before_the_flattening(self) -> None:
        """Where it raises, at the linear layer, the images are rows already."""
        told = usual_cause(recognise("AssertionError", LENGTHS.format(192, 48)), network.layers)
        assert "max_pool2d is left out" in told.english
        assert told.english.endswith("Do max_pool2d before flatten.")

    def test_a_length_that_no_change_gives_is_not_explained(self) -> None:
        assert NOTHING == usual_cause(
            recognise("AssertionError", LENGTHS.format(77, 48)), network.layers
        )

    def test_a_bias_that_is_added_to_what_its_layer_takes(self) -> None:
        """And not to the product: the lengths are those of one layer's weight."""
        known = recognise("InternalError", "Incompatible broadcast dims: 48 and 12 in: (4, 48) and")
        assert "not to the product" in usual_cause(known, network.layers).english

    def test_a_vector_beside_a_result_of_that_length_is_not_said_to_be_a_bias(self) -> None:
        """Zeros as long as the input, for a layer without a bias, fit the layer before."""
        given = torch.ones(2, 16).double()
        weights = torch.ones(27, 16).double(), torch.ones(16, 27).double()

        def layers() -> Any:
            hidden = nn.functional.linear(given, weights[0], torch.ones(27).double())
            return record(lambda: nn.functional.linear(hidden, weights[1]).numpy(), [given.numpy()])

        known = recognise("InternalError", "Incompatible broadcast dims: 16 and 27 in: (2, 16) and")
        assert NOTHING == usual_cause(known, layers)

    def test_a_weight_the_wrong_way_round(self) -> None:
        told = usual_cause(recognise("AssertionError", LENGTHS.format(48, 12)), network.layers)
        assert "(12, 48)" in told.english

    @pytest.mark.parametrize("shape", [(3, 8), (3,)])
    def test_a_product_of_exchanged_factors(self, shape: tuple[int, ...]) -> None:
        x, y = torch.ones(shape).double(), torch.ones(shape[-1], 5).double()
        known = recognise("ValueError", "The reduction dimensions of 5 and 3 are not equal")
        told = usual_cause(known, lambda: record(lambda: (x @ y).numpy(), [x.numpy()]))
        assert "depends on the order of its arguments" in told.english

    @pytest.mark.parametrize("message", ERRORS)
    def test_an_error_as_tvm_words_it_has_its_cause(self, message: str) -> None:
        assert (
            ERRORS[message]
            in usual_cause(recognise("InternalError", message), network.layers).english
        )

    def test_a_bias_of_two_axes(self) -> None:
        assert (
            "(n,)"
            in usual_cause(recognise("AssertionError", "assert len(bias.shape) == 1")).english
        )

    def test_arguments_that_are_missing_are_named(self) -> None:
        with pytest.raises(TypeError) as caught:
            topi.nn.conv2d(1, 2)
        assert "'strides'" in usual_cause(recognise("TypeError", str(caught.value))).english

    def test_nothing_is_said_of_another_error(self) -> None:
        assert NOTHING == usual_cause(recognise("ValueError", "3 vs 4"))

    def test_it_takes_the_place_of_the_general_advice(self) -> None:
        failure = CaptureFailure(
            "p", "MyConv", 5, "raised", "AssertionError", LENGTHS.format(75, 48), 7
        )

        problem = explain_absence(PART, (failure,), layers=network.layers)
        assert "at line 7" in problem.reason.english
        assert "padding" in problem.hint.english


class TestNothingAfterTheColon:
    @pytest.mark.parametrize("line", [None, 11])
    def test_an_error_without_a_message_ends_in_a_full_stop(self, line: int | None) -> None:
        failure = CaptureFailure("p", "MyConv", 5, "raised", "AssertionError", "", line)
        assert explain_absence(PART, (failure,)).reason.english.endswith(
            (" 11.", "AssertionError.")
        )


class TestExtern:
    def test_one_that_was_never_registered_is_called_that(self) -> None:
        bb = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((1, 4), "float32"))
        with bb.function("main", [x]):
            with bb.dataflow():
                out = bb.emit_output(
                    relax.op.call_dps_packed("env.relu", [x], relax.TensorType((1, 4), "float32"))
                )
            bb.emit_func_output(out)
        capture = Capture("p", "MyConv", 5, True, modules.save(bb.get()))
        part = PartTable(
            id="p", title="", entry_kind="module", entry=("MyConv",), check=(), externs=True
        )
        problem = inspect(part, capture)
        assert isinstance(problem, Problem)
        assert "does not register" in problem.reason.english
        assert 'register_global_func("env.relu")' in problem.hint.english
        assert "not allowed" not in problem.reason.english
