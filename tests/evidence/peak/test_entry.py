"""What a box counts of a module: the bytes that TVM's own lowering allocates."""

from __future__ import annotations

import tvm
from tvm import relax, s_tir
from tvm.script import ir as I  # noqa: N812 - TVMScript's own names
from tvm.script import tirx as T  # noqa: N812

from grader.evidence.peak.inside.entry import perform
from grader.evidence.peak.messages import Holder, MeasurePeak, Peak
from tests.inside.runner import modules


def peak(module: tvm.IRModule) -> Peak:
    return perform(MeasurePeak(modules.document(module)))


def test_a_buffer_of_the_whole_image_is_counted_with_all_its_items() -> None:
    assert (Holder("conv2d", 4 * 28 * 28 * 4),) == peak(modules.timed_convolution()).functions


def test_compute_at_shrinks_it_to_what_one_round_reads() -> None:
    schedule = s_tir.Schedule(modules.timed_convolution())
    rows = schedule.get_loops(schedule.get_sblock("conv2d_nchw", "conv2d"))
    schedule.compute_at(schedule.get_sblock("pad_temp", "conv2d"), rows[3])
    assert (Holder("conv2d", 3 * 3 * 4),) == peak(schedule.mod).functions


def test_an_inlined_buffer_is_none() -> None:
    schedule = s_tir.Schedule(modules.timed_convolution())
    schedule.compute_inline(schedule.get_sblock("pad_temp", "conv2d"))
    assert (Holder("conv2d", 0),) == peak(schedule.mod).functions


def test_main_holds_what_one_call_gives_to_the_next() -> None:
    """TVM plans two buffers for these: what a call reads, and what it writes."""
    module, _ = modules.classifier()
    assert Holder("main", 692_384) == peak(module).main


def test_a_function_alone_has_no_main() -> None:
    assert None is peak(modules.timed_convolution()).main


@I.ir_module
class AnyLength:
    """A sum of two arrays of any length, by way of a buffer."""

    @T.prim_func(s_tir=True)
    def add(a: T.handle, b: T.handle) -> None:  # noqa: N805
        n = T.int64()
        x = T.match_buffer(a, (n,), "float32")
        y = T.match_buffer(b, (n,), "float32")
        kept = T.sblock_alloc_buffer((n,), "float32")
        for i in range(n):
            with T.sblock("keep"):
                at = T.axis.spatial(n, i)
                kept[at] = x[at] + T.float32(1)
        for i in range(n):
            with T.sblock("add"):
                at = T.axis.spatial(n, i)
                y[at] = kept[at] + x[at]


def test_a_size_that_is_decided_at_run_time_is_told_as_unknown() -> None:
    assert (Holder("add", None),) == peak(AnyLength).functions


def test_tensors_of_any_size_between_calls_are_unknown() -> None:
    builder = relax.BlockBuilder()
    rows = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((rows, 4), "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            first = builder.emit_te(tvm.topi.add, x, x)
            result = builder.emit_output(builder.emit_te(tvm.topi.multiply, first, first))
        builder.emit_func_output(result)
    assert Holder("main", None) == peak(builder.get()).main
