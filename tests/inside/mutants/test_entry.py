"""Mutants of modules: which there are, what they change, and which are left out."""
# ruff: noqa: N805, N812 - TVMScript looks like Python and has its own rules

from __future__ import annotations

import cloudpickle
import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax, te, topi
from tvm.script import ir as I
from tvm.script import tirx as T

from grader.inside.common.failure import TaskError
from grader.inside.common.modules import load_module, nodes_of
from grader.inside.mutants.entry import mutate_module
from grader.inside.mutants.tensorir import off_by_one
from grader.inside.runner.evaluation import Evaluator
from grader.messages.frames import pack_array
from grader.messages.runner import MutateModule, MutationResult, RunArgument, RunModule, TensorSpec
from tests.inside.runner.modules import (
    SHAPE,
    calls_extern,
    classifier,
    document,
    one_argument,
    task,
)

INPUTS = np.random.default_rng(5).standard_normal((2, *SHAPE)).astype("float32")


def mutants(module, inputs, limit=4) -> MutationResult:
    return mutate_module(MutateModule(task(module, inputs), limit))


def kinds(result: MutationResult) -> list[str]:
    return [each.mutation.kind for each in result.mutants]


def layers(*bias: float):
    """Return relu(x @ w.T + b) of x of 4 by 8, the bias added by a call of its own."""
    weight = np.random.default_rng(1).standard_normal((8, 8)).astype("float32")

    def build(builder, x):
        hidden = builder.emit_te(topi.nn.dense, x, relax.const(weight))
        shifted = builder.emit_te(topi.add, hidden, relax.const(np.array(bias, "float32")))
        return builder.emit_te(topi.nn.relu, shifted)

    return one_argument(build, (4, 8))


@I.ir_module
class Kernels:
    """A convolution with bias along one axis, and a function that nobody asks for."""

    @T.prim_func(s_tir=True)
    def convolve(
        x: T.Buffer((2, 1, 6, 6), "float32"),
        w: T.Buffer((3, 1, 3, 3), "float32"),
        b: T.Buffer((3,), "float32"),
        y: T.Buffer((2, 3, 4, 4), "float32"),
    ):
        for n, f, i, j, p, q in T.grid(2, 3, 4, 4, 3, 3):
            with T.sblock("convolve"):
                vn, vf, vi, vj, vp, vq = T.axis.remap("SSSSRR", [n, f, i, j, p, q])
                with T.init():
                    y[vn, vf, vi, vj] = b[vf]
                y[vn, vf, vi, vj] = (
                    y[vn, vf, vi, vj] + x[vn, 0, vi + vp, vj + vq] * w[vf, 0, vp, vq]
                )

    @T.prim_func(s_tir=True)
    def other(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("other"):
                vi = T.axis.spatial(4, i)
                y[vi] = x[vi]


def kernel_task(module=Kernels) -> RunModule:
    generator = np.random.default_rng(2)
    arrays = [
        generator.standard_normal((3, *shape)).astype("float32")
        for shape in ((2, 1, 6, 6), (3, 1, 3, 3), (3,))
    ]
    arguments = tuple(RunArgument(pack_array(each)) for each in arrays)
    outputs = (TensorSpec("float32", (2, 3, 4, 4)),)
    return RunModule(document(module), arguments, "llvm", 1, function="convolve", outputs=outputs)


class TestModel:
    def test_every_layer_of_a_classifier_has_its_mutants(self) -> None:
        module, _ = classifier()
        result = mutants(module, INPUTS)
        assert [
            ("flip_kernel", "conv2d", "lv"),
            ("off_by_one", "conv2d", "lv"),
            ("off_by_one", "pool2d", "lv2"),
            ("off_by_one", "dense", "lv4"),
        ] == [
            (each.mutation.kind, each.mutation.function, each.mutation.binding)
            for each in result.mutants[:4]
        ]
        assert {"float16", "return_zeros", "return_input"} < set(kinds(result))
        assert ["drop_bias", "swap_layers", "narrow"] == [each.kind for each in result.inapplicable]

    def test_only_what_a_mutation_names_is_changed(self) -> None:
        module, _ = classifier()
        functions = {str(name.name_hint): each for name, each in module.functions.items()}
        for each in mutants(module, INPUTS).mutants:
            if each.mutation.kind != "off_by_one":
                continue
            changed = load_module(each.module)
            differing = {
                str(name.name_hint)
                for name, function in changed.functions.items()
                if isinstance(function, tvm.tirx.PrimFunc)
                and not tvm_ffi.structural_equal(function, functions[str(name.name_hint)])
            }
            assert {each.mutation.function} == differing

    def test_a_mutant_differs_by_what_it_says(self) -> None:
        module = layers(*range(1, 9))
        inputs = np.random.default_rng(3).standard_normal((1, 4, 8)).astype("float32")
        (zeros,) = [
            each for each in mutants(module, inputs).mutants if each.mutation.kind == "return_zeros"
        ]
        machine = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
        largest = np.abs(machine["main"](tvm.runtime.tensor(inputs[0])).numpy()).max()
        assert float(largest) == pytest.approx(zeros.difference)

    def test_layers_of_equal_shape_are_swapped_and_a_vector_becomes_zeros(self) -> None:
        inputs = np.random.default_rng(3).standard_normal((1, 4, 8)).astype("float32")
        found = {each.mutation.kind: each for each in mutants(layers(*[-1.0] * 8), inputs).mutants}
        assert "add is done before dense" == found["swap_layers"].mutation.about or (
            "relu is done before add" == found["swap_layers"].mutation.about
        )
        assert "[8]" in found["drop_bias"].mutation.about

    def test_what_makes_no_difference_is_left_out(self) -> None:
        """A bias of zeros may be dropped, and added before or after the ReLU."""
        inputs = np.random.default_rng(3).standard_normal((1, 4, 8)).astype("float32")
        result = mutants(layers(*[0.0] * 8), inputs)
        assert "drop_bias" not in kinds(result)
        reasons = {each.kind: each.reason for each in result.inapplicable}
        assert "the outputs stay the same" == reasons["drop_bias"]

    def test_at_most_so_many_of_each_kind_are_made(self) -> None:
        module, _ = classifier()
        assert 1 == kinds(mutants(module, INPUTS, limit=1)).count("off_by_one")
        assert 2 == kinds(mutants(module, INPUTS, limit=2)).count("off_by_one")

    def test_operators_are_rounded_too(self) -> None:
        def build(builder, x):
            return builder.emit(relax.op.exp(relax.op.multiply(x, relax.const(0.3, "float32"))))

        inputs = np.random.default_rng(3).standard_normal((1, 4)).astype("float32")
        result = mutants(one_argument(build), inputs)
        (half,) = [each for each in result.mutants if each.mutation.kind == "float16"]
        assert 1e-6 < half.difference < 1e-2

    def test_the_first_value_that_is_rounded_is_told(self) -> None:
        """An external function computes in the precision that it likes."""

        def build(builder, x):
            row = relax.TensorType((4,), "float32")
            double = relax.op.call_dps_packed("test.double", (x,), row)
            third = relax.const(np.float32(1 / 3))
            return builder.emit_te(topi.multiply, builder.emit(double), third)

        run = task(one_argument(build), np.ones((1, 4)), stubs={"test.double": 1})
        result = mutate_module(MutateModule(run))
        (half,) = [each for each in result.mutants if each.mutation.kind == "float16"]
        assert "lv1" == half.mutation.binding

    def test_a_module_that_cannot_be_run_has_no_mutants(self) -> None:
        with pytest.raises(TaskError):
            mutate_module(MutateModule(task(b"{}", INPUTS)))


def double(source, out):
    import numpy

    numpy.from_dlpack(out)[...] = 2 * numpy.from_dlpack(source)


class TestExterns:
    def test_one_evaluator_serves_the_module_and_all_of_its_mutants(
        self, evaluator: Evaluator
    ) -> None:
        inputs = np.random.default_rng(3).standard_normal((1, 4)).astype("float32")
        pickles = {"test.double": cloudpickle.dumps(double)}
        run = task(calls_extern("test.double"), inputs, externs=pickles)
        result = mutate_module(MutateModule(run), evaluator)
        assert {"float16", "return_zeros", "return_input"} <= set(kinds(result))
        assert all(each.difference < 10 for each in result.mutants)


class TestFunction:
    def test_a_function_without_main_is_mutated_inside(self) -> None:
        result = mutate_module(MutateModule(kernel_task()))
        assert [
            "drop_bias",
            "flip_kernel",
            "off_by_one",
            "off_by_one",
            "float16",
            "return_zeros",
            "return_input",
        ] == kinds(result)
        assert {"convolve"} == {each.mutation.function or "convolve" for each in result.mutants}

    def test_other_functions_of_the_module_stay(self) -> None:
        for each in mutate_module(MutateModule(kernel_task())).mutants:
            names = {str(name.name_hint) for name in load_module(each.module).functions}
            assert {"convolve", "other"} == names

    def test_a_scheduled_function_is_mutated_as_well(self) -> None:
        schedule = tvm.s_tir.Schedule(Kernels)
        block = schedule.get_sblock("convolve", func_name="convolve")
        *_, j, p, q = schedule.get_loops(block)
        schedule.reorder(p, q, j)
        schedule.unroll(q)
        schedule.vectorize(j)
        schedule.decompose_reduction(block, p)
        result = mutate_module(MutateModule(kernel_task(schedule.mod)))
        assert {"off_by_one", "flip_kernel", "float16"} < set(kinds(result))

    def test_a_loop_with_steps_ends_a_step_early(self) -> None:
        @T.prim_func(s_tir=True)
        def total(x: T.Buffer((8,), "float32"), y: T.Buffer((1,), "float32")):
            for k in T.serial(0, 8, step=2):
                y[0] = y[0] + x[k]

        ((about, make),) = off_by_one(total)
        (loop,) = nodes_of(make(), tvm.tirx.For)
        assert (True, 6, 2) == ("after 3 of 4" in about, int(loop.extent), int(loop.step))

    def test_integers_have_nothing_to_round(self) -> None:
        a, b = (te.placeholder((4,), "int64", name=name) for name in "ab")
        total = te.compute((4,), lambda i: a[i] + b[i], name="c")
        module = tvm.IRModule({"add": te.create_prim_func([a, b, total])})
        values = RunArgument(pack_array(np.arange(8, dtype="int64").reshape(2, 4)))
        run = RunModule(
            document(module),
            (values, values),
            "llvm",
            1,
            function="add",
            outputs=(TensorSpec("int64", (4,)),),
        )
        result = mutate_module(MutateModule(run))
        assert ["return_zeros", "return_input"] == kinds(result)
