"""The computational graph that a report shows, made from a module's facts."""

from __future__ import annotations

import msgspec

from grader.grading.judge import AXIS_LIMIT, NAME_LIMIT, NODE_LIMIT, draw_graph
from grader.ir.facts import Argument, BufferFacts, Call, ModuleFacts, TensorFacts
from grader.report import Graph, Node
from tests.evidence.factory import module, tensor


def value(source: int) -> Argument:
    return Argument("value", f"lv{source}", tensor(1, 128), source)


def taken(name: str, *shape: int) -> Argument:
    return Argument("input", name, tensor(*shape))


CONSTANT = Argument("constant", "", tensor(10, 128))


def calling(kind, callee: str, *arguments: Argument, binding="lv") -> Call:
    return Call(kind, callee, arguments, tensor(1, 128), binding, dataflow=True)


def facts(*calls: Call, inputs=("x",), result: Argument | None = None) -> ModuleFacts:
    buffers = tuple(BufferFacts(name, tensor(1, 784)) for name in inputs)
    return msgspec.structs.replace(module(*calls), inputs=buffers, result=result)


def graph(read: ModuleFacts) -> Graph:
    drawn = draw_graph(read)
    assert drawn is not None
    return drawn


def test_inputs_constants_and_calls_are_nodes_and_their_tensors_edges():
    drawn = graph(
        facts(
            calling("tir", "linear0", taken("x", 1, 784), taken("w0", 128, 784), binding="lv0"),
            calling("extern", "env.linear", value(0), CONSTANT, binding="out"),
            inputs=("x", "w0"),
            result=value(1),
        )
    )
    expected = [
        ("input", "x", "", (1, 784)),
        ("input", "w0", "", (1, 784)),
        ("tir", "lv0", "linear0", (1, 128)),
        ("constant", "", "", (10, 128)),
        ("extern", "out", "env.linear", (1, 128)),
    ]
    assert expected == [(node.kind, node.variable, node.callee, node.shape) for node in drawn.nodes]
    assert ((0, 2), (1, 2), (2, 4), (3, 4)) == drawn.edges
    assert (4, 0) == (drawn.output, drawn.omitted)
    assert [False, False, True, False, True] == [node.dataflow for node in drawn.nodes]


def test_a_module_without_main_has_no_graph():
    assert draw_graph(msgspec.structs.replace(facts(), has_main=False)) is None


def test_an_input_may_be_the_output():
    assert 0 == graph(facts(result=taken("x", 1, 784))).output


def test_the_output_is_open_where_there_are_several_or_it_cannot_be_followed():
    hidden = Argument("value", "chosen", tensor(1, 10))
    assert graph(facts(result=None)).output is None
    assert graph(facts(result=hidden)).output is None


def test_a_tensor_that_is_taken_twice_is_one_edge():
    assert ((0, 1),) == graph(facts(calling("tir", "add", taken("x"), taken("x")))).edges


def test_what_is_too_many_is_counted_and_its_edges_are_left_out():
    chain = [calling("tir", "f", taken("x"))]
    chain += [calling("tir", "f", value(place)) for place in range(99)]
    drawn = graph(facts(*chain, result=value(99)))
    assert NODE_LIMIT == len(drawn.nodes)
    assert 101 - NODE_LIMIT == drawn.omitted
    assert NODE_LIMIT - 1 == len(drawn.edges)
    assert drawn.output is None


def test_a_call_of_many_constants_is_bounded_too():
    drawn = graph(facts(calling("extern", "env.f", *[CONSTANT] * 5000)))
    assert NODE_LIMIT == len(drawn.nodes)
    assert 5002 - NODE_LIMIT == drawn.omitted


def test_names_are_short_and_printable_and_shapes_have_few_axes():
    wild = TensorFacts(shape=("n\n" * 99, *range(20)), dtype="float32")
    call = Call("tir", "f\x1b[2J" * 30, (), wild, binding="v\u202e")
    node = graph(facts(call, inputs=())).nodes[0]
    assert AXIS_LIMIT == len(node.shape or ())
    for text in (node.callee, node.variable, str((node.shape or ("",))[0])):
        assert text.isprintable()
        assert len(text) <= NAME_LIMIT


def test_a_shape_that_is_left_open_stays_open():
    call = Call("tir", "f", (), TensorFacts(shape=None, dtype="float32"), binding="lv")
    assert (
        Node("tir", "lv", "f", shape=None, dtype="float32")
        == graph(facts(call, inputs=())).nodes[0]
    )
