"""Attributes that mean nothing to TVM are left out of a module, and those that act stay in it."""

from __future__ import annotations

import json
import re
from functools import reduce
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import relax, te, topi
from tvm.script import relax as R  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.errors import IRError
from grader.ir.read import read_module
from grader.ir.rewriting import rebatch, without_idle_attributes
from tests.evidence import schedules
from tests.ir import modules
from tests.ir.scripts import exercises


def document(name: str, value: object = True) -> bytes:
    module = exercises()
    variable = next(iter(module.functions))
    module.update_func(variable, module[variable].with_attr(name, value))
    return tvm.ir.save_json(module).encode()


@pytest.mark.parametrize("name", ["tir.alias", "tir_noalias", "author", "Noalias", "Composite"])
def test_what_is_unknown_is_left_out_and_told(name: str) -> None:
    cleaned, names = without_idle_attributes(document(name))
    assert (name,) == names
    assert () == read_module(cleaned).findings
    assert not any(name in function.attrs for function in loaded(cleaned))


@pytest.mark.parametrize("name", ["tirx.noalias", "op_pattern"])
def test_what_is_usual_stays(name: str) -> None:
    given = document(name, 1)
    assert (given, ()) == without_idle_attributes(given)


@pytest.mark.parametrize(
    "name",
    ["Codegen", "calling_conv", "target", "target_host", "tirx.is_entry_func", "relax.rejected"],
)
def test_what_acts_stays_and_is_refused(name: str) -> None:
    cleaned, names = without_idle_attributes(document(name, "c"))
    assert () == names
    assert [("attribute", name)] == [(f.code, f.subject) for f in read_module(cleaned).findings]


def test_what_acts_beside_what_does_not_is_refused_all_the_same() -> None:
    module = tvm.ir.load_json(document("Codegen", "dnnl").decode())
    variable = next(iter(module.functions))
    module.update_func(variable, module[variable].with_attr("author", "me"))
    cleaned, names = without_idle_attributes(tvm.ir.save_json(module).encode())
    assert ("author",) == names
    assert ["Codegen"] == [finding.subject for finding in read_module(cleaned).findings]


def test_nothing_else_changes() -> None:
    cleaned, _ = without_idle_attributes(document("author", "me"))
    tvm.ir.assert_structural_equal(exercises(), tvm.ir.load_json(cleaned.decode()))


def loaded(text: bytes) -> list[tvm.tirx.PrimFunc]:
    return list(tvm.ir.load_json(text.decode()).functions.values())


# --- rebatch --------------------------------------------------------------------------------------
# The same function for another batch: what TVM computes with it is the convolution.


CASES = [(layer, batch) for layer in schedules.LAYERS for batch in (1, 4)]


def emit(function: Any, *shapes: tuple[int, ...], batch: int = 4) -> bytes:
    """Return a module whose `main` calls one function, `layer`, of an image and constants."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((batch, *schedules.IMAGE), "float32"))
    constants = [schedules.constant(*shape) for shape in shapes]
    with bb.function("main", [x]):
        with bb.dataflow():
            made = bb.emit_te(function, x, *constants, primfunc_name_hint="layer")
            output = bb.emit_output(made)
        bb.emit_func_output(output)
    return modules.save(bb.get())


def run(document: bytes, name: str, *arrays: np.ndarray) -> np.ndarray:
    function = tvm.ir.load_json(document.decode())[name].with_attr("global_symbol", "main")
    tensors = [tvm.runtime.tensor(each) for each in arrays]
    shape = [int(extent) for extent in function.params[-1].shape]
    output = tvm.runtime.tensor(np.full(shape, np.nan, "float32"))
    tvm.compile(function, "llvm").mod["main"](*tensors, output)
    return output.numpy()


def convolve(data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    windows = np.lib.stride_tricks.sliding_window_view(data[:, 0], (3, 3), axis=(1, 2))
    return np.einsum("nyxij,fij->nfyx", windows, weight[:, 0])


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape).astype("float32")


class TestRebatch:
    @pytest.mark.parametrize(("layer", "batch"), CASES)
    def test_the_function_computes_the_same_for_more_images(self, layer, batch):
        base = modules.save(schedules.model(layer, batch))
        (document,) = rebatch(base, "conv2d", 0, (7,)).documents
        data, weight = draw(7, *schedules.IMAGE), draw(*schedules.WEIGHT)
        desired, arrays = convolve(data, weight), [data, weight]
        if layer == "fused":
            arrays.append(draw(1, 8, 1, 1))
            desired = np.maximum(desired + arrays[2], 0)
        actual = run(document, "conv2d", *arrays)
        np.testing.assert_allclose(actual, desired, rtol=1e-4, atol=1e-5)

    @pytest.mark.parametrize(("layer", "batch"), CASES)
    def test_the_module_is_one_that_the_reader_accepts(self, layer, batch):
        base = modules.save(schedules.model(layer, batch))
        for document in rebatch(base, "conv2d", 0, (7, 2**20), ("relu",)).documents:
            facts = read_module(document)
            assert () == facts.findings
            assert not facts.has_main
            assert {"conv2d", "relu"} == facts.functions.keys()

    def test_nothing_but_the_batch_changes(self):
        """The image is 4 by 4 by 4 channels as well: one number stands for all of them."""
        base = modules.save(square_model())
        (document,) = rebatch(base, "layer", 0, (9,)).documents
        before, after = (read_module(each).functions["layer"] for each in (base, document))
        assert [(4, 4, 4, 4), (4, 4, 1, 1), (4, 4, 4, 4)] == _shapes(before)
        assert [(9, 4, 4, 4), (4, 4, 1, 1), (9, 4, 4, 4)] == _shapes(after)
        for old, new in zip(before.blocks, after.blocks, strict=True):
            kept = [loop.extent for loop in old.loops[1:]]
            assert [9, *kept] == [loop.extent for loop in new.loops]

    def test_the_batch_that_it_had_gives_the_same_facts(self):
        base = modules.save(schedules.model("fused"))
        (document,) = rebatch(base, "conv2d", 0, (4,)).documents
        assert read_module(base).functions["conv2d"] == read_module(document).functions["conv2d"]

    def test_other_functions_are_there_if_they_are_named_and_unchanged(self):
        base = modules.save(schedules.model())
        (alone,) = rebatch(base, "conv2d", 0, (8,)).documents
        assert {"conv2d"} == set(read_module(alone).functions)
        (both,) = rebatch(base, "conv2d", 0, (8,), ("relu", "main", "nobody")).documents
        assert {"conv2d", "relu"} == set(read_module(both).functions)
        assert read_module(base).functions["relu"] == read_module(both).functions["relu"]

    def test_infinite_numbers_stay_what_they_are(self):
        def layer(x: Any) -> Any:
            largest = tvm.tirx.const(float("inf"), "float32")
            return te.compute(x.shape, lambda *i: tvm.tirx.min(x[i], largest), name="bounded")

        (document,) = rebatch(emit(layer), "layer", 0, (3,)).documents
        data = draw(3, *schedules.IMAGE)
        assert (data == run(document, "layer", data)).all()


def square_model() -> Any:
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 4, 4, 4), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            made = bb.emit_te(
                topi.nn.conv2d, x, schedules.constant(4, 4, 1, 1), 1, 0, 1,
                primfunc_name_hint="layer",
            )  # fmt: skip
            output = bb.emit_output(made)
        bb.emit_func_output(output)
    return bb.get()


def _shapes(function: Any) -> list[Any]:
    return [buffer.tensor.shape for buffer in function.parameters]


@T.prim_func(s_tir=True)
def one_loop(x: T.Buffer((4, 8), "float32"), y: T.Buffer((4, 8), "float32")):
    aside = T.sblock_alloc_buffer((4,), "float32")
    for n in range(4):
        with T.sblock("aside"):
            m = T.axis.spatial(4, n)
            aside[m] = T.float32(1)
        for i in range(8):
            with T.sblock("copy"):
                vn, vi = T.axis.remap("SS", [n, i])
                y[vn, vi] = x[vn, vi]


def test_blocks_that_share_the_loop_share_the_batch():
    module = tvm.IRModule({"layer": one_loop.with_attr("global_symbol", "layer")})
    (document,) = rebatch(modules.save(module), "layer", 0, (9,)).documents
    function = read_module(document).functions["layer"]
    assert [(9,)] == [buffer.tensor.shape for buffer in function.allocations]
    data = draw(9, 8)
    assert (data == run(document, "layer", data)).all()


def test_a_long_chain_of_copies_is_followed_to_its_end():
    def copy(x: Any, number: int) -> Any:
        return te.compute(x.shape, lambda *i: x[i], name=f"copy{number}")

    (document,) = rebatch(emit(lambda x: reduce(copy, range(300), x)), "layer", 0, (9,)).documents
    output = read_module(document).functions["layer"].parameters[-1]
    assert (9, *schedules.IMAGE) == output.tensor.shape


def test_one_function_under_two_names_is_written_once():
    function = one_loop.with_attr("global_symbol", "layer")
    document = modules.save(tvm.IRModule({"layer": function, "other": function}))
    (made,) = rebatch(document, "layer", 0, (9,), ("other",)).documents
    assert 1 == len(read_module(made).functions)


def test_a_function_that_shares_its_body_is_left_alone():
    function = one_loop.with_attr("global_symbol", "layer")
    other = function.with_attr("global_symbol", "other")
    document = modules.save(tvm.IRModule({"layer": function, "other": other}))
    assert "shares parts" in rebatch(document, "layer", 0, (9,), ("other",)).reason.english
    assert 1 == len(rebatch(document, "layer", 0, (9,)).documents)


class TestWhatIsNotPlain:
    """Nothing is made, and a reason is given."""

    def reason(self, document: bytes, data: int = 0) -> str:
        made = rebatch(document, "layer", data, (8,))
        assert () == made.documents
        return made.reason.english

    def test_a_batch_that_is_mixed_with_another_axis(self):
        def flat(x: Any) -> Any:
            return te.compute((32, 10), lambda i, j: x[i // 8, 0, i % 8, j], name="flat")

        assert "is not indexed by the batch's loop" in self.reason(emit(flat))

    def test_a_batch_that_is_computed_with(self):
        def shifted(x: Any) -> Any:
            return te.compute(x.shape, lambda n, *i: x[(n, *i)] + n.astype("float32"), name="y")

        assert "part of an expression" in self.reason(emit(shifted))

    def test_a_batch_that_is_summed_up(self):
        def mean(x: Any) -> Any:
            n = te.reduce_axis((0, 4), "n")
            return te.compute((8, 10), lambda i, j: te.sum(x[n, 0, i, j], axis=n), name="y")

        assert "not a separate axis" in self.reason(emit(mean))

    def test_images_that_are_turned_round(self):
        def turned(x: Any) -> Any:
            return te.compute(x.shape, lambda n, *i: x[(3 - n, *i)], name="y")

        assert "is not indexed by the batch's loop" in self.reason(emit(turned))

    def test_a_constant_for_each_image(self):
        def add(x: Any, y: Any) -> Any:
            return topi.add(x, y)

        assert "is indexed by the batch" in self.reason(emit(add, (4, *schedules.IMAGE)))

    def test_a_part_of_the_batch(self):
        def half(x: Any) -> Any:
            return te.compute((2, *schedules.IMAGE), lambda *i: x[i], name="y")

        assert "part of the batch" in self.reason(emit(half))

    def test_a_batch_that_the_output_has_elsewhere(self):
        def turned(x: Any) -> Any:
            return topi.transpose(x, (1, 2, 3, 0))

        assert "its output has a different batch" in self.reason(emit(turned))

    def test_a_schedule(self):
        schedule = tvm.s_tir.Schedule(schedules.model())
        loop, *_ = schedule.get_loops(schedule.get_sblock("conv2d_nchw", "conv2d"))
        schedule.split(loop, [2, 2])
        made = rebatch(modules.save(schedule.mod), "conv2d", 0, (8,))
        assert (() == made.documents, bool(made.reason)) == (True, True)

    def test_a_function_that_is_not_there(self):
        assert "no such function" in rebatch(emit(topi.nn.relu), "main", 0, (8,)).reason.english

    @pytest.mark.parametrize("place", [-1, 1, 7])
    def test_data_that_are_no_argument(self, place):
        assert "its arguments" in self.reason(emit(topi.nn.relu), place)

    def test_flat_tensorir(self):
        made = rebatch(modules.save(modules.flat_tir()), "flat", 0, (8,))
        assert () == made.documents

    def test_what_is_no_module_at_all(self):
        with pytest.raises(IRError):
            rebatch(b"{}", "layer", 0, (8,))


def test_a_shared_number_changes_only_where_the_batch_is_meant():
    """TVM saves equal shapes once: here every extent of 4 is made one node."""
    base = modules.save(square_model())
    document = json.loads(base)
    nodes = document["nodes"]
    fours = [
        at for at, node in enumerate(nodes)
        if node["type"] == "ir.IntImm" and nodes[node["data"]["value"]].get("data") == 4
    ]  # fmt: skip
    assert len(fours) > 3
    for node in nodes:
        data = node.get("data")
        if node["type"] in ("ffi.Array", "tirx.For", "ir.Range"):
            items = enumerate(data) if isinstance(data, list) else list(data.items())
            for key, value in items:
                if value in fours and key != "kind":
                    data[key] = fours[0]
    shared = json.dumps(document).encode()
    assert read_module(base).functions == read_module(shared).functions
    plain, merged = (rebatch(each, "layer", 0, (9,)).documents[0] for each in (base, shared))
    assert read_module(plain).functions == read_module(merged).functions


def test_reasons_are_clauses():
    reason = rebatch(emit(topi.nn.relu), "layer", 5, (8,)).reason
    assert re.fullmatch(r"[a-z`].*[^.]", reason.english)
