"""Which function does the convolution: seen by what it is given, whatever it is called."""

from __future__ import annotations

from typing import Any

import pytest
from tvm import relax, s_tir, te, topi
from tvm.script import relax as R  # noqa: N812

from grader.evidence.replay import gather_replay
from grader.evidence.steps import find_steps
from grader.evidence.subject import (
    Subject,
    find_convolution,
    find_convolutions,
    find_weight_call,
    input_places,
)
from grader.ir.facts import ModuleFacts
from grader.ir.read import read_module
from tests.evidence import schedules
from tests.evidence.factory import ORACLE
from tests.evidence.schedules import WEIGHT, constant
from tests.ir import modules


def build(layer: Any, batch: int = 4) -> Any:
    """A model of which `layer(builder, image)` gives the output."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((batch, *schedules.IMAGE), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            output = bb.emit_output(layer(bb, x))
        bb.emit_func_output(output)
    return bb.get()


def names(module: Any) -> list[str]:
    return [each.name for each in find_convolutions(facts_of(module), WEIGHT)]


def facts_of(module: Any) -> ModuleFacts:
    return read_module(modules.save(module))


def flat(x: Any, w: Any) -> Any:
    """The convolution with a weight of shape (8, 9)."""
    k = te.reduce_axis((0, 9), "k")
    return te.compute(
        (x.shape[0], *schedules.OUTPUT),
        lambda n, f, i, j: te.sum(x[n, 0, i + k // 3, j + k % 3] * w[f, k], axis=k),
        name="mine",
    )


@pytest.mark.parametrize("name", ["conv2d", "conv2d_1", "Conv2d_topi", "my_conv2d", "f"])
@pytest.mark.parametrize("layer", ["topi", "fused", "hand_written"])
def test_the_name_does_not_matter_nor_what_is_fused(name, layer):
    module = schedules.model(layer, name=name)
    assert [name] == names(module)


def test_a_function_that_is_called_twice_is_one():
    weight = constant(*WEIGHT)

    def layer(bb: Any, x: Any) -> Any:
        return topi_add(bb, *(emit_conv(bb, x, weight) for _ in range(2)))

    module = build(layer)
    assert 2 == sum(call.callee == "conv2d" for call in facts_of(module).calls)
    assert ["conv2d"] == names(module)


def faster(x: Any, w: Any) -> Any:
    return topi.nn.relu(schedules.topi_layer(x, w))


def test_a_function_that_the_output_does_not_depend_on_is_there_for_show():
    def layer(bb: Any, x: Any) -> Any:
        bb.emit_te(faster, x, constant(*WEIGHT), primfunc_name_hint="shown")
        return emit_conv(bb, x, constant(*WEIGHT), "used")

    module = build(layer)
    assert {"shown", "used"} <= set(facts_of(module).functions)
    found = find_convolution(facts_of(module), WEIGHT)
    assert found is not None
    assert "used" == found.name


def emit_conv(bb: Any, x: Any, weight: Any, name: str = "conv2d") -> Any:
    return bb.emit_te(schedules.topi_layer, x, weight, primfunc_name_hint=name)


def topi_add(bb: Any, one: Any, other: Any) -> Any:
    return bb.emit_te(topi.add, one, other)


def test_all_functions_that_are_given_the_weight_are_found():
    def layer(bb: Any, x: Any) -> Any:
        one = emit_conv(bb, x, constant(*WEIGHT))
        other = bb.emit_te(schedules.hand_written, x, constant(*WEIGHT), primfunc_name_hint="other")
        return topi_add(bb, one, other)

    assert ["conv2d", "other"] == names(build(layer))


def test_a_weight_in_another_shape_is_found_by_its_size():
    module = build(lambda bb, x: bb.emit_te(flat, x, constant(8, 9), primfunc_name_hint="mine"))
    assert ["mine"] == names(module)


def test_the_very_shape_comes_before_the_size():
    def layer(bb: Any, x: Any) -> Any:
        aside = bb.emit_te(flat, x, constant(8, 9), primfunc_name_hint="aside")
        return topi_add(bb, aside, emit_conv(bb, x, constant(*WEIGHT)))

    facts = facts_of(build(layer))
    assert "conv2d" == find_convolution(facts, WEIGHT).name


def test_another_shape_beside_it_hides_no_convolution():
    """A scheduled decoy is given the weight, the convolution the same numbers as rows."""

    def layer(bb: Any, x: Any) -> Any:
        decoy = emit_conv(bb, x, constant(*WEIGHT))
        return topi_add(bb, decoy, bb.emit_te(flat, x, constant(8, 9), primfunc_name_hint="real"))

    assert ["conv2d", "real"] == names(build(layer))


def test_as_many_numbers_that_are_only_added_are_no_weight():
    def layer(bb: Any, x: Any) -> Any:
        def shift(y: Any, w: Any) -> Any:
            return te.compute(y.shape, lambda n, f, i, j: y[n, f, i, j] + w[f, i], name="shift")

        hidden = emit_conv(bb, x, constant(*WEIGHT))
        return bb.emit_te(shift, hidden, constant(8, 9), primfunc_name_hint="shift")

    assert ["conv2d"] == names(build(layer))


def reshaped() -> Any:
    def layer(bb: Any, x: Any) -> Any:
        rows = bb.emit_te(topi.reshape, constant(*WEIGHT), (8, 9))
        return bb.emit_te(flat, x, rows, primfunc_name_hint="mine")

    return build(layer)


def test_a_weight_that_the_module_reshapes_is_followed():
    assert ["mine"] == names(reshaped())
    facts = facts_of(reshaped())
    call = find_weight_call(facts, WEIGHT)
    assert ("mine", (0,)) == (call.callee, input_places(facts, call))


def test_its_steps_are_seen_and_its_schedule_is_proven():
    def schedule(sch: Any) -> None:
        image, *_, column, _ = sch.get_loops(sch.get_sblock("mine", "mine"))
        sch.parallel(image)
        sch.vectorize(column)

    subject = schedules.candidate(reshaped(), schedule)
    function = find_convolution(subject.facts, WEIGHT)
    assert {"inline", "annotate", "parallel", "vectorize", "contiguous"} == find_steps(
        function, find_convolution(subject.base, WEIGHT), WEIGHT
    )
    found = gather_replay(subject, Subject(WEIGHT, ORACLE), (8,), schedules.Runners())
    assert (True, 1) == (found.proven, len(found.larger))


def test_a_sum_that_was_written_as_one_is_not_fused_by_a_split_elsewhere():
    def schedule(sch: Any) -> None:
        _, channel, *_ = sch.get_loops(sch.get_sblock("mine", "mine"))
        sch.split(channel, [None, 4])

    subject = schedules.candidate(reshaped(), schedule)
    base, function = (find_convolution(each, WEIGHT) for each in (subject.base, subject.facts))
    assert {"inline", "split", "reorganize"} == find_steps(function, base, WEIGHT)


def test_a_weight_that_nobody_uses_on_data_is_no_convolution_of_more_than_itself():
    def layer(bb: Any, x: Any) -> Any:
        bb.emit_te(topi.reshape, constant(*WEIGHT), (8, 9))
        return bb.emit_te(topi.nn.relu, x)

    assert ["reshape"] == names(build(layer))


def test_an_operator_that_is_given_the_weight_is_no_function():
    module = build(lambda bb, x: bb.emit(relax.op.nn.conv2d(x, constant(*WEIGHT))))
    assert [] == names(module)


def test_a_scheduled_name_is_the_same_as_before():
    schedule = s_tir.Schedule(schedules.model(name="my_conv2d"))
    schedules.schedule_topi(schedule, "my_conv2d")
    assert ["my_conv2d"] == names(schedule.mod)
