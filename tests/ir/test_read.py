"""The entry: every honest module is read, quickly, and by the same rules as TVM."""

from __future__ import annotations

import time
from typing import Any

import pytest
import tvm
from tvm import relax, topi
from tvm.script import relax as R  # noqa: N812

from grader.errors import IRError
from grader.ir.facts import Argument, BufferFacts, Call, ModuleFacts, TensorFacts
from grader.ir.read import read_module
from tests.ir.documents import Document
from tests.ir.modules import constant, extern_model, from_torch, save
from tests.ir.scripts import script_branches, script_relax, script_symbolic


def test_every_honest_module_is_read(honest: dict[str, bytes]) -> None:
    """Function names are those that TVM has."""
    for document in honest.values():
        module = tvm.ir.load_json(document.decode())
        names = {str(variable.name_hint) for variable in module.functions}
        read = read_module(document, ("env.*",))
        assert names == {*read.functions, *read.graphs, *(["main"] if read.has_main else [])}


def test_facts_do_not_depend_on_how_often_they_are_read(conv: bytes) -> None:
    assert read_module(conv) == read_module(conv)


def test_the_classifier_is_read_in_a_fraction_of_a_second(conv: bytes) -> None:
    """Processor time, best of five: 20 to 43 ms on the machine that this was written on.

    The bar is far off: what it finds is work that grows with the square of a module's size.
    """
    assert len(conv) > 3_000_000
    times = []
    for _ in range(5):
        start = time.process_time()
        read_module(conv)
        times.append(time.process_time() - start)
    assert min(times) < 0.4


def test_a_module_that_went_through_tvm_again_has_the_same_facts(conv: bytes) -> None:
    again = tvm.ir.save_json(tvm.ir.load_json(conv.decode())).encode()
    assert read_module(conv) == read_module(again)


# --- relax ----------------------------------------------------------------------------------------
# `main`: its inputs, its calls in order, and where their arguments come from.


def facts(build: Any, *shapes: tuple[int, ...]) -> ModuleFacts:
    """Return the facts of a `main` that `build(bb, *inputs)` fills; it returns the output."""
    bb = relax.BlockBuilder()
    inputs = [relax.Var(f"x{i}", R.Tensor(shape, "float32")) for i, shape in enumerate(shapes)]
    with bb.function("main", inputs):
        bb.emit_func_output(build(bb, *inputs))
    return read_module(save(bb.get()), ("env.*",))


def origins(call: Call) -> list[tuple[str, str, int | None]]:
    return [(argument.kind, argument.name, argument.source) for argument in call.arguments]


@pytest.fixture(scope="module")
def read(conv: bytes) -> ModuleFacts:
    """The facts of the classifier."""
    return read_module(conv)


class TestConvModel:
    """The classifier of the assignment, built with emit_te."""

    def test_it_has_one_image_batch_as_input_and_probabilities_as_output(
        self, read: ModuleFacts
    ) -> None:
        tensor = TensorFacts(shape=(4, 1, 28, 28), dtype="float32")
        assert read.has_main
        assert (BufferFacts(name="x", tensor=tensor),) == read.inputs
        assert TensorFacts(shape=(4, 10), dtype="float32") == read.output

    def test_its_calls_are_in_the_order_of_the_program(self, read: ModuleFacts) -> None:
        expected = "conv2d add relu pool2d flatten dense add1 relu1 dense1 add2 softmax".split()  # noqa: SIM905
        assert expected == [call.callee for call in read.calls]
        assert {"tir"} == {call.kind for call in read.calls}
        assert ["lv", *(f"lv{i}" for i in range(1, 11))] == [call.binding for call in read.calls]

    def test_the_convolution_takes_the_input_and_a_constant(self, read: ModuleFacts) -> None:
        image = TensorFacts(shape=(4, 1, 28, 28), dtype="float32")
        weight = TensorFacts(shape=(32, 1, 3, 3), dtype="float32")
        expected = (
            Argument(kind="input", name="x", tensor=image),
            Argument(kind="constant", name="", tensor=weight),
        )
        assert expected == read.calls[0].arguments
        assert TensorFacts(shape=(4, 32, 26, 26), dtype="float32") == read.calls[0].result

    def test_each_layer_takes_what_the_one_before_made(self, read: ModuleFacts) -> None:
        for place, call in enumerate(read.calls[1:], start=1):
            before = read.calls[place - 1]
            assert ("value", before.binding, place - 1) == origins(call)[0]
            assert before.result == call.arguments[0].tensor

    def test_the_output_is_what_the_last_call_made(self, read: ModuleFacts) -> None:
        assert read.result is not None
        assert ("value", "lv10", 10) == (
            read.result.kind,
            read.result.name,
            read.result.source,
        )

    def test_all_functions_are_named(self, read: ModuleFacts) -> None:
        assert {call.callee for call in read.calls} == read.functions.keys()


class TestDataflow:
    """Which calls stand in a dataflow block."""

    def test_calls_of_a_dataflow_block_are_told_from_those_between_blocks(self) -> None:
        bb = relax.BlockBuilder()
        x = relax.Var("x", R.Tensor((4,), "float32"))
        with bb.function("main", [x]):
            with bb.dataflow():
                first = bb.emit_output(bb.emit_te(topi.nn.relu, x))
            second = bb.emit(relax.op.add(first, first))
            with bb.dataflow():
                third = bb.emit_output(bb.emit_te(topi.nn.relu, second))
            bb.emit_func_output(third)
        read = read_module(save(bb.get()))
        assert [True, False, True] == [call.dataflow for call in read.calls]

    def test_calls_in_the_branches_of_an_if_are_in_none(self) -> None:
        read = read_module(save(script_branches()))
        assert read.calls
        assert {False} == {call.dataflow for call in read.calls}


class TestKinds:
    """What a call calls."""

    def test_externs_operators_and_functions_are_told_apart(self) -> None:
        module = read_module(save(script_relax()), ("env.*",))
        assert [("tir", "linear0"), ("tir", "relu0"), ("extern", "env.linear")] == [
            (call.kind, call.callee) for call in module.calls
        ]
        module = read_module(save(script_branches()))
        assert ("function", "sub") == (module.calls[-1].kind, module.calls[-1].callee)
        assert ("operator", "relax.add") == (module.calls[0].kind, module.calls[0].callee)

    def test_arguments_of_an_extern_are_those_of_its_tuple(self) -> None:
        call = read_module(save(extern_model()), ("env.*",)).calls[0]
        assert [("input", "x", None), ("constant", "", None)] == origins(call)

    def test_a_single_argument_needs_no_tuple(self) -> None:
        def build(bb: Any, x: Any) -> Any:
            return bb.emit(relax.op.call_dps_packed("env.f", x, R.Tensor((4,), "float32")))

        assert [("input", "x0", None)] == origins(facts(build, (4,)).calls[0])

    @pytest.mark.parametrize(
        ("name", "callee"),
        [
            ("relax call_packed", "rpc.PopenSession"),
            ("relax call_pure_packed", "rpc.CreatePipeClient"),
            ("relax call_inplace_packed", "env.f"),
            ("relax extern value", "rpc.Connect"),
        ],
    )
    def test_any_call_of_a_packed_function_is_an_extern(
        self, name: str, callee: str, hostile: dict[str, bytes]
    ) -> None:
        call = read_module(hostile[name]).calls[-1]
        assert ("extern", callee) == (call.kind, call.callee)

    def test_an_in_place_call_is_a_call_of_its_function(self, hostile: dict[str, bytes]) -> None:
        call = read_module(hostile["call_tir_inplace"]).calls[0]
        assert ("tir", "f") == (call.kind, call.callee)

    def test_an_imported_model_is_a_list_of_operators(self) -> None:
        module = read_module(save(from_torch(False)))
        names = [call.callee for call in module.calls]
        assert names[0] == "relax.nn.conv2d"
        assert {"operator"} == {call.kind for call in module.calls}
        assert ("constant", (4, 1, 3, 3)) == (
            module.calls[0].arguments[1].kind,
            module.calls[0].arguments[1].tensor and module.calls[0].arguments[1].tensor.shape,
        )

    def test_parameters_that_are_kept_are_inputs(self) -> None:
        module = read_module(save(from_torch(True)))
        assert len(module.inputs) > 1
        assert "input" == module.calls[0].arguments[1].kind

    def test_a_module_without_main_has_no_calls(self, product: bytes) -> None:
        module = read_module(product)
        assert not module.has_main
        assert () == module.calls
        assert module.output is None
        assert module.result is None


class TestOrigins:
    """Variables are followed to where the value was made."""

    def test_a_name_for_a_constant_is_a_constant(self) -> None:
        def build(bb: Any, x: Any) -> Any:
            weight = bb.emit(constant(4), "weight")
            return bb.emit(relax.op.add(x, weight))

        call = facts(build, (4,)).calls[0]
        assert [("input", "x0", None), ("constant", "weight", None)] == origins(call)

    def test_another_name_for_a_value_is_that_value(self) -> None:
        def build(bb: Any, x: Any) -> Any:
            made = bb.emit(relax.op.exp(x), "made")
            alias = bb.emit(bb.emit(made, "first"), "second")
            return bb.emit(relax.op.add(alias, alias))

        module = facts(build, (4,))
        assert [("value", "made", 0), ("value", "made", 0)] == origins(module.calls[1])

    def test_another_name_for_an_input_is_that_input(self) -> None:
        def build(bb: Any, x: Any) -> Any:
            return bb.emit(relax.op.exp(bb.emit(x, "alias")))

        assert [("input", "x0", None)] == origins(facts(build, (4,)).calls[0])

    def test_a_reshape_is_a_call_that_makes_a_value(self) -> None:
        def build(bb: Any, x: Any) -> Any:
            weight = bb.emit(relax.op.reshape(constant(2, 2), (4,)))
            return bb.emit(relax.op.add(x, weight))

        module = facts(build, (4,))
        assert ("constant", "", None) == origins(module.calls[0])[0]
        assert ("value", "gv", 0) == origins(module.calls[1])[1]

    def test_tuples_are_taken_apart(self) -> None:
        def build(bb: Any, x: Any, y: Any) -> Any:
            made = bb.emit(relax.op.exp(x), "made")
            pair = bb.emit(relax.Tuple([made, relax.Tuple([y, constant(4)])]))
            inner = bb.emit(relax.TupleGetItem(pair, 1))
            second = bb.emit(relax.TupleGetItem(inner, 0))
            whole = bb.emit(relax.op.concat(inner, 0))
            return bb.emit(
                relax.op.call_dps_packed(
                    "env.f", relax.Tuple([second, whole, made]), R.Tensor((4,), "float32")
                )
            )

        module = facts(build, (4,), (4,))
        assert [("input", "x1", None), ("constant", "", None)] == origins(module.calls[1])
        assert [("input", "x1", None), ("value", "gv3", 1), ("value", "made", 0)] == origins(
            module.calls[2]
        )

    def test_an_element_of_what_a_call_made_is_a_value_of_that_call(self) -> None:
        def build(bb: Any, x: Any) -> Any:
            halves = bb.emit(relax.op.split(x, 2, 0), "halves")
            return bb.emit(relax.op.exp(bb.emit(relax.TupleGetItem(halves, 1))))

        module = facts(build, (4,))
        assert [("value", "halves", 0)] == origins(module.calls[1])
        assert module.calls[1].arguments[0].tensor == TensorFacts(shape=(2,), dtype="float32")

    def test_a_matched_shape_is_the_same_value(self) -> None:
        module = read_module(save(script_symbolic()))
        add = next(call for call in module.calls if call.callee == "relax.add")
        assert ("value", "lv2", 2) == origins(add)[0]
        assert ("constant", "", None) == origins(add)[1]

    def test_a_shape_is_something_else(self) -> None:
        module = read_module(save(script_symbolic()))
        reshape = next(call for call in module.calls if call.callee == "relax.reshape")
        assert ("other", "", None) == origins(reshape)[1]

    def test_symbolic_extents_are_names_and_longer_expressions_a_question_mark(self) -> None:
        module = read_module(save(script_symbolic()))
        assert ("n", 784) == module.inputs[0].tensor.shape
        assert module.calls[2].result is not None
        assert ("?", 64) == module.calls[2].result.shape

    def test_calls_in_branches_come_before_what_follows_the_branch(self) -> None:
        module = read_module(save(script_branches()))
        assert ["relax.add", "relax.multiply", "sub"] == [call.callee for call in module.calls]
        assert [("value", "w", None)] == origins(module.calls[2])

    def test_calls_outside_of_a_dataflow_block_count(self) -> None:
        def build(bb: Any, x: Any) -> Any:
            first = bb.emit_te(topi.exp, x)
            with bb.dataflow():
                second = bb.emit_output(bb.emit_te(topi.tanh, first))
            return bb.emit_te(topi.sqrt, second)

        module = facts(build, (4,))
        assert ["exp", "tanh", "sqrt"] == [call.callee for call in module.calls]
        assert [("value", "lv", 1)] == origins(module.calls[2])

    def test_an_output_of_two_tensors_has_no_one_origin(self) -> None:
        assert read_module(save(script_symbolic())).result is None

    def test_an_input_that_is_returned_is_the_result(self) -> None:
        module = facts(lambda bb, x: x, (4,))
        assert module.result is not None
        assert ("input", "x0") == (module.result.kind, module.result.name)


def test_tuples_of_tuples_that_stand_for_endless_arguments_are_refused() -> None:
    """Sixty nested pairs of one value are 2**60 arguments."""

    def build(bb: Any, x: Any) -> Any:
        pair = bb.emit(relax.Tuple([x, x]))
        return bb.emit(relax.op.concat(pair, 0))

    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(build(bb, x))
    document = Document(save(bb.get()))
    at = next(document.indices("ir.Tuple"))
    kind, fields = document.target(at)["data"]["ty"], document.target(at)["data"]["fields"]
    nodes: list[dict[str, Any]] = []
    inner = 0
    for i in range(60):
        items = [inner, inner] if i else list(document.target(fields)["data"])
        nodes.append({"type": "ffi.Array", "data": items})
        inner = at + len(nodes)
        nodes.append({"type": "ir.Tuple", "data": {"span": 0, "ty": kind, "fields": inner - 1}})
    nodes.append({"type": "ffi.Array", "data": [inner, inner]})
    document.insert(at, nodes)
    document.target(at + len(nodes))["data"]["fields"] = at + len(nodes) - 1
    with pytest.raises(IRError, match="too many parts"):
        read_module(document.encode())


@pytest.mark.parametrize(
    ("mark", "primitive"), [(None, False), (True, True), (1, True), (0, False), (False, False)]
)
def test_other_functions_of_relax_are_read_with_their_mark(mark, primitive) -> None:
    x = relax.Var("x", relax.TensorType((2, 3), "float32"))
    builder = relax.BlockBuilder()
    attributes = {} if mark is None else {"Primitive": mark}
    with builder.function("other", [x], attrs=attributes, private=True):
        with builder.dataflow():
            result = builder.emit_output(relax.op.exp(x))
        builder.emit_func_output(result)
    graph = read_module(save(builder.get())).graphs["other"]
    assert (["relax.exp"], primitive) == ([each.callee for each in graph.calls], graph.primitive)
