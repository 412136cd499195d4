"""The check that a part is one TensorIR function with the right parameters."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest
import tvm
from tvm import relax, te

from grader.assignment import CheckTable, Computation
from grader.checks.kinds.tensorir import one_function
from grader.errors import CourseError
from grader.evidence.registry import NoOptions, find_check
from grader.ir.read import read_module
from tests.evidence.factory import case
from tests.ir.modules import save

X = te.placeholder((4, 8), name="x")
DOUBLED = te.compute((4, 8), lambda i, j: 2 * X[i, j], name="doubled")
COLUMN = te.reduce_axis((0, 8), name="column")
SUMS = te.compute((4,), lambda i: te.sum(DOUBLED[i, COLUMN], axis=COLUMN), name="sums")


def computation(*outputs):
    table = {
        "id": "sums",
        "arguments": [{"shape": [4, 8]}],
        "outputs": [{"shape": list(shape)} for shape in outputs],
    }
    return msgspec.convert(table, Computation)


def judge(module, *outputs):
    """Return what the check says of an IRModule, asked for a function with these outputs."""
    facts = read_module(save(module))
    return one_function(replace(case(facts), comparison=computation(*outputs)), NoOptions())


def function(*tensors, name="rows"):
    """Return a module with one PrimFunc, whose parameters are the tensors."""
    return tvm.IRModule({name: te.create_prim_func(list(tensors)).with_attr("global_symbol", name)})


class TestParameters:
    def test_inputs_then_outputs_pass_whatever_the_function_is_called(self):
        outcome = judge(function(X, SUMS, name="anything"), (4,))
        assert "passed" == outcome.verdict
        assert outcome.reason.english.endswith(" has the parameters (4, 8), (4).")

    def test_an_intermediate_that_was_not_asked_for_fails_and_is_told(self):
        outcome = judge(function(X, DOUBLED, SUMS), (4,))
        assert "failed" == outcome.verdict
        assert (
            "parameters (4, 8), (4, 8), (4); it should have (4, 8), (4)." in outcome.reason.english
        )

    def test_an_intermediate_that_was_asked_for_passes(self):
        assert "passed" == judge(function(X, DOUBLED, SUMS), (4, 8), (4,)).verdict

    def test_an_intermediate_that_is_missing_fails(self):
        assert "failed" == judge(function(X, SUMS), (4, 8), (4,)).verdict

    def test_outputs_of_different_shapes_have_an_order(self):
        assert "failed" == judge(function(X, DOUBLED, SUMS), (4,), (4, 8)).verdict

    def test_another_dtype_fails_and_is_told(self):
        whole = te.placeholder((4, 8), name="x", dtype="int64")
        copied = te.compute((4, 8), lambda i, j: whole[i, j], name="copied")
        outcome = judge(function(whole, copied), (4, 8))
        assert "failed" == outcome.verdict
        assert (
            "(4, 8) int64, (4, 8) int64; it should have (4, 8), (4, 8)." in outcome.reason.english
        )

    def test_one_of_several_functions_is_enough(self):
        several = function(X, DOUBLED, name="other")
        several.update(function(X, SUMS))
        assert "passed" == judge(several, (4,)).verdict


class TestGraphs:
    def test_a_relax_main_is_not_a_function_even_if_it_computes_the_same(self):
        bb = relax.BlockBuilder()
        x = relax.Var("x", relax.TensorType((4, 8), "float32"))
        with bb.function("main", [x]):
            with bb.dataflow():
                output = bb.emit_output(bb.emit_te(lambda y: te.compute((4, 8), y), x))
            bb.emit_func_output(output)
        outcome = judge(bb.get(), (4, 8))
        assert "failed" == outcome.verdict
        assert "not a TensorIR function" in outcome.reason.english


class TestTable:
    def test_it_has_no_options(self):
        table = CheckTable(id="structure", kind="one_function", options={"shape": [1]})
        with pytest.raises(CourseError, match="shape"):
            find_check(table).parse(table)
