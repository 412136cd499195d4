"""Modules bound to names, PrimFuncs by themselves, and their schedules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import tvm
from tvm import te

from grader.inside.kernel.modules import BoundModules, module_of, module_within, schedule_base
from grader.messages.kernel import Capture, EntrySpec
from tests.inside.kernel.conftest import BUILDER, PREAMBLE, SCHEDULED, Notebook

ENTRIES = (
    EntrySpec("module", "module", ("MyModule", "MyModule*")),
    EntrySpec("operator", "module", ("matmul", "MyMatmul*"), holds="function"),
    EntrySpec("call", "function", ("make_matmul",), holds="function"),
    EntrySpec("model", "function", ("make_model",)),
    EntrySpec("steps", "schedule", ("sch_matmul",), holds="function"),
    EntrySpec("whole", "schedule", ("sch",)),
)

MATMUL = """
@T.prim_func(s_tir=True)
def matmul(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"),
           C: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

CREATED = """
def created():
    A = te.placeholder((8, 8), name="A")
    B = te.placeholder((8, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((8, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_prim_func([A, B, C])
"""

SCRIPT = """
@tvm.script.ir_module
class NAME:
    @T.prim_func(s_tir=True)
    def scale(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("B"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] * T.float32(FACTOR)
    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = NAME
        with R.dataflow():
            y = R.call_tir(cls.scale, (x,), R.Tensor((4,), "float32"))
            R.output(y)
        return y
"""


def script(name: str = "MyModule", factor: int = 2) -> str:
    return SCRIPT.replace("NAME", name).replace("FACTOR", str(factor))


def load(document: bytes | None) -> tvm.IRModule:
    assert document is not None
    return tvm.ir.load_json(document.decode())


def functions(capture: Capture) -> list[str]:
    return sorted(variable.name_hint for variable in load(capture.module).functions)


@pytest.fixture
def notebook(shell: Any) -> Iterator[Notebook]:
    """A notebook whose first two cells define `build_model` and `created`."""
    notebook = Notebook(shell, ENTRIES)
    notebook.watcher.attach()
    notebook.run(PREAMBLE)
    notebook.run(BUILDER + CREATED)
    yield notebook
    notebook.watcher.detach()
    assert [] == notebook.faults


def names(notebook: Notebook, part: str) -> list[tuple[str, int, bool]]:
    return [(each.name, each.cell, each.by_name) for each in notebook.captures(part)]


class TestBoundToAName:
    def test_a_decorated_class_is_a_module(self, notebook: Notebook) -> None:
        notebook.run(script())
        assert [("MyModule", 3, True)] == names(notebook, "module")
        assert ["main", "scale"] == functions(notebook.captures("module")[0])

    def test_every_binding_of_the_name_is_a_candidate(self, notebook: Notebook) -> None:
        notebook.run(script())
        notebook.run(script(factor=3))
        notebook.run("again = MyModule")
        assert [("MyModule", 3, True), ("MyModule", 4, True)] == names(notebook, "module")

    def test_a_change_in_place_is_another_candidate(self, notebook: Notebook) -> None:
        notebook.run(script())
        notebook.run("MyModule['scale'] = MyModule['scale'].with_attr('a', 1)")
        assert [3, 4] == [each.cell for each in notebook.captures("module")]

    def test_what_a_pass_makes_of_it_has_a_name_too(self, notebook: Notebook) -> None:
        notebook.run(script())
        notebook.run(
            "MyModuleChanged = MyModule.clone()\n"
            "MyModuleChanged['scale'] = MyModule['scale'].with_attr('a', 1)"
        )
        assert ["MyModule", "MyModuleChanged"] == [n for n, _, _ in names(notebook, "module")]

    @pytest.mark.parametrize(
        "expression",
        [
            "relax.BlockBuilder(build_model())",
            "relax.BlockBuilder(build_model()).get()",
            "relax.BlockBuilder(build_model()).finalize()",
            "tvm.s_tir.Schedule(build_model())",
        ],
    )
    def test_a_builder_and_a_schedule_count_by_their_module(
        self, notebook: Notebook, expression: str
    ) -> None:
        notebook.run(f"MyModule = {expression}")
        assert [("MyModule", 3, True)] == names(notebook, "module")

    def test_a_schedule_under_the_name_is_taken_again_when_it_has_changed(
        self, notebook: Notebook
    ) -> None:
        notebook.run("MyModule = tvm.s_tir.Schedule(build_model())")
        notebook.run("1")
        notebook.run("sch = MyModule" + SCHEDULED)
        assert [3, 5] == [each.cell for each in notebook.captures("module")]

    def test_a_module_without_a_main_is_for_the_referee_to_tell(self, notebook: Notebook) -> None:
        notebook.run("MyModule = tvm.IRModule({'matmul': created()})")
        assert ["matmul"] == functions(notebook.captures("module")[0])

    def test_a_function_of_the_very_name_is_called(self, notebook: Notebook) -> None:
        notebook.run("def MyModule():\n    return build_model()")
        notebook.run("def MyModule_helper():\n    return build_model(5.0)")
        assert [("MyModule", 3, True)] == names(notebook, "module")

    def test_other_modules_are_taken_besides_under_their_names(self, notebook: Notebook) -> None:
        notebook.run("def MyModule():\n    return build_model()")
        notebook.run("other = build_model(2.0)")
        assert [("MyModule", 3, True), ("other", 4, False)] == names(notebook, "module")

    def test_a_class_that_was_not_decorated_is_none(self, notebook: Notebook) -> None:
        notebook.run("class MyModule:\n    pass")
        assert [] == notebook.captures("module")


class TestUnderAnotherName:
    def test_a_module_is_a_candidate_also_where_the_name_is_there(self, notebook: Notebook) -> None:
        """The lecture's introduction may use the name for an example."""
        notebook.run(script("Mine"))
        notebook.run(script("MyModule", 3))
        notebook.run(script("Mine", 4))
        found = names(notebook, "module")
        assert [("Mine", 3, False), ("MyModule", 4, True), ("Mine", 5, False)] == found

    def test_the_same_module_as_the_named_one_is_no_other(self, notebook: Notebook) -> None:
        notebook.run(script())
        notebook.run("other = MyModule")
        assert [("MyModule", 3, True)] == names(notebook, "module")

    def test_the_same_module_under_the_name_later_is_an_answer(self, notebook: Notebook) -> None:
        notebook.run(script("Mine"))
        notebook.run("MyModule = Mine")
        assert [("Mine", 3, False), ("MyModule", 4, True)] == names(notebook, "module")

    def test_the_order_within_a_cell_does_not_matter(self, notebook: Notebook) -> None:
        notebook.run("another = build_model(2.0); MyModule = build_model()")
        assert [("MyModule", 3, True), ("another", 3, False)] == names(notebook, "module")


class TestLoneFunctions:
    def test_one_in_the_script_keeps_its_name(self, notebook: Notebook) -> None:
        notebook.run(MATMUL)
        notebook.run("1")
        assert [("matmul", 3, True)] == names(notebook, "operator")
        assert ["matmul"] == functions(notebook.captures("operator")[0])

    def test_one_without_a_symbol_is_main(self, notebook: Notebook) -> None:
        notebook.run("matmul = created().without_attr('global_symbol')")
        assert ["main"] == functions(notebook.captures("operator")[0])

    def test_one_under_another_name_is_a_candidate(self, notebook: Notebook) -> None:
        notebook.run("mine = created()")
        assert [("mine", 3, False)] == names(notebook, "operator")

    def test_a_module_with_one_counts_with_and_without_a_main(self, notebook: Notebook) -> None:
        notebook.run("MyMatmul = tvm.IRModule({'mm': created()})")
        notebook.run("MyMatmul2 = build_model()")
        assert [["mm"], ["conv2d", "main", "relu"]] == [
            functions(each) for each in notebook.captures("operator")
        ]

    def test_it_is_no_model(self, notebook: Notebook) -> None:
        notebook.run("MyModule = made = created()\ndef make_model():\n    return created()")
        assert [] == notebook.captures("module")
        assert [] == notebook.captures("model")
        assert ["PrimFunc"] == [each.message for each in notebook.failures("model")]

    def test_an_entry_point_may_return_one(self, notebook: Notebook) -> None:
        notebook.run("def make_matmul():\n    return created()")
        notebook.run("def make_matmul():\n    return [created().with_attr('global_symbol', 'mm')]")
        assert [["main"], ["mm"]] == [functions(each) for each in notebook.captures("call")]


class TestTheirSchedules:
    def test_one_of_a_lone_function_has_base_and_trace(self, notebook: Notebook) -> None:
        notebook.run("def tile():\n    sch_matmul = tvm.s_tir.Schedule(created())\n    return 1")
        notebook.run("sch_matmul = tvm.s_tir.Schedule(created().with_attr('global_symbol', 'mm'))")
        notebook.run("sch_matmul.parallel(sch_matmul.get_loops(sch_matmul.get_sblock('C'))[0])")
        assert [] == notebook.captures("whole")
        first, second = notebook.captures("steps")
        assert ("sch_matmul", True, "sch_matmul", True) == (
            first.name, first.by_name, second.name, second.by_name,
        )  # fmt: skip
        assert (first.module, first.module) == (first.base, second.base)
        replayed = tvm.s_tir.Schedule(load(second.base))
        tvm.s_tir.schedule.Trace.apply_json_to_schedule(json.loads(second.trace or b""), replayed)
        tvm.ir.assert_structural_equal(replayed.mod, load(second.module))

    def test_one_that_a_function_returns_has_base_and_trace(self, notebook: Notebook) -> None:
        notebook.run("def make_matmul():\n    return tvm.s_tir.Schedule(created())")
        (capture,) = notebook.captures("call")
        assert (capture.module, True) == (capture.base, capture.trace is not None)

    def test_one_without_a_name_is_found(self, notebook: Notebook) -> None:
        notebook.run(
            "def improve():\n"
            "    s = tvm.s_tir.Schedule(tvm.IRModule({'mm': created()}))\n"
            "    s.parallel(s.get_loops(s.get_sblock('C', func_name='mm'))[0])"
        )
        notebook.run("improve()")
        assert [("a local schedule", 4, False)] == names(notebook, "steps")

    def test_a_part_of_functions_takes_a_model_s_too(self, notebook: Notebook) -> None:
        notebook.run("sch = tvm.s_tir.Schedule(build_model())")
        assert [("sch", 3, True)] == names(notebook, "whole")
        assert [("sch", 3, False)] == names(notebook, "steps")

    def test_examples_on_functions_do_not_drive_out_the_model_s(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.inside.kernel.modules.LIVE_LIMIT", 2)
        notebook.run(
            "tvm.s_tir.Schedule(build_model())\n"
            "for name in 'abcd':\n"
            "    tvm.s_tir.Schedule(created().with_attr('global_symbol', name))"
        )
        assert 1 == len(notebook.captures("whole"))
        assert 3 == len(notebook.captures("steps"))


class TestNews:
    def test_a_function_is_new_once(self) -> None:
        values = {"f": te.create_prim_func([te.placeholder((4,))])}
        bound = BoundModules(lambda value: module_of(value, "function"))
        assert (["f"], []) == (list(bound.news(values)), list(bound.news(values)))

    def test_what_has_lost_its_name_is_forgotten(self) -> None:
        module = tvm.IRModule({})
        bound = BoundModules(lambda value: value)
        assert ["a"] == list(bound.news({"a": module}))
        assert [] == list(bound.news({}))
        assert 0 == len(bound)
        assert ["a"] == list(bound.news({"a": module}))

    def test_what_is_no_module_any_more_is_forgotten(self) -> None:
        bound = BoundModules(lambda value: value)
        bound.news({"a": tvm.IRModule({})})
        assert ({}, 0) == (bound.news({"a": None}), len(bound))


class TestWhatCounts:
    def test_a_model_has_a_relax_main(self) -> None:
        module = tvm.IRModule({})
        assert (None, None) == (module_of(module, "model"), module_of(module, "function"))
        assert module_within(module, "model") is module

    def test_no_object_that_tvm_never_made_is_touched(self) -> None:
        for kind in (tvm.IRModule, tvm.tirx.PrimFunc, tvm.s_tir.Schedule, tvm.relax.BlockBuilder):
            hollow = kind.__new__(kind)
            assert module_of(hollow, "function") is None
            assert module_within(hollow, "function") is None
            assert schedule_base(hollow) is None
