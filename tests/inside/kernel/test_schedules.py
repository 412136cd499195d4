"""Schedules and scheduled modules: which are found, under which name, and with what base."""

from __future__ import annotations

import json

import pytest
import tvm

from grader.inside.kernel.modules import SeenSchedule
from tests.inside.kernel.conftest import SCHEDULED, Notebook

SCHEDULE = "schedule"

EXAMPLE = """
@T.prim_func(s_tir=True)
def before_inline(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.sblock("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
"""


def kinds(trace: bytes | None) -> list[str]:
    assert trace is not None
    return [instruction[0] for instruction in json.loads(trace)[0]]


def load(document: bytes | None) -> tvm.IRModule:
    assert document is not None
    return tvm.ir.load_json(document.decode())


class TestNamedSchedules:
    def test_base_and_trace_lead_to_the_module(self, notebook: Notebook) -> None:
        notebook.run("sch = tvm.s_tir.Schedule(build_model())" + SCHEDULED)
        (capture,) = notebook.captures(SCHEDULE)
        assert (capture.name, capture.cell, capture.by_name) == ("sch", 3, True)
        assert kinds(capture.trace) == ["GetSBlock", "GetLoops", "Parallel"]
        replayed = tvm.s_tir.Schedule(load(capture.base))
        tvm.s_tir.schedule.Trace.apply_json_to_schedule(json.loads(capture.trace or b""), replayed)
        tvm.ir.assert_structural_equal(replayed.mod, load(capture.module))

    def test_each_instruction_has_the_line_that_it_was_written_in(self, notebook: Notebook) -> None:
        """Also in a loop, and in a function of the notebook: the innermost line of a cell."""
        notebook.run("def unroll(schedule, loop):\n    schedule.unroll(loop)")
        notebook.run(
            "sch = tvm.s_tir.Schedule(build_model())\n\n"
            "block = sch.get_sblock('conv2d_nchw', func_name='conv2d')\n"
            "for loop in sch.get_loops(block):\n"
            "    unroll(sch, loop)\n"
        )
        notebook.run("sch.annotate(loop, 'pragma_auto_unroll_max_step',\n    4)")
        *_, capture = notebook.captures(SCHEDULE)
        lines = [(each.cell, each.line, each.text) for each in capture.lines]
        assert len(lines) == len(kinds(capture.trace))
        assert (4, 3, "block = sch.get_sblock('conv2d_nchw', func_name='conv2d')") == lines[0]
        assert (4, 4, "for loop in sch.get_loops(block):") == lines[1]
        assert {(3, 2, "schedule.unroll(loop)")} == {*lines[2:-1]}
        assert (5, 1, "sch.annotate(loop, 'pragma_auto_unroll_max_step',") == lines[-1]

    def test_a_copy_has_the_lines_of_what_was_done_before(self, notebook: Notebook) -> None:
        notebook.run("sch = tvm.s_tir.Schedule(build_model())" + SCHEDULED)
        notebook.run("first, sch = sch, sch.copy()\nsch.unroll(sch.get_loops(block)[1])")
        named = [each for each in notebook.captures(SCHEDULE) if each.name == "sch"]
        assert [3, 3, 3, 4, 4] == [each.cell for each in named[-1].lines]

    def test_every_step_in_a_cell_of_its_own_is_a_candidate(self, notebook: Notebook) -> None:
        notebook.run("sch = tvm.s_tir.Schedule(build_model())")
        notebook.run(SCHEDULED)
        notebook.run("print(sch.mod.script()[:10])")
        notebook.run("sch.unroll(sch.get_loops(block)[1])")
        lengths = [len(kinds(each.trace)) for each in notebook.captures(SCHEDULE)]
        assert [each.cell for each in notebook.captures(SCHEDULE)] == [3, 4, 6]
        assert lengths == [0, 3, 5]

    def test_the_base_is_what_the_schedule_was_given(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model()")
        notebook.run(
            "sch = tvm.s_tir.Schedule(mod)\n"
            "changed = sch.mod['relu'].with_attr('changed', 1)\n"
            "sch.mod.update_func(mod.get_global_var('relu'), changed)" + SCHEDULED
        )
        capture = next(each for each in notebook.captures(SCHEDULE) if each.name == "sch")
        assert "changed" in load(capture.module)["relu"].attrs
        assert "changed" not in (load(capture.base)["relu"].attrs or {})
        assert capture.base == notebook.captures(SCHEDULE)[0].module

    def test_an_example_on_a_lone_function_is_ignored(self, notebook: Notebook) -> None:
        notebook.run(EXAMPLE)
        notebook.run("sch = tvm.s_tir.Schedule(before_inline)")
        notebook.run("sch.parallel(sch.get_loops(sch.get_sblock('B'))[0])")
        assert notebook.emitted == []
        notebook.run("sch = tvm.s_tir.Schedule(build_model())" + SCHEDULED)
        assert [(each.name, each.cell) for each in notebook.captures(SCHEDULE)] == [("sch", 6)]

    def test_the_name_that_was_asked_for_is_preferred(self, notebook: Notebook) -> None:
        notebook.run("a = tvm.s_tir.Schedule(build_model()); sch_b = a; sch = a")
        assert [each.name for each in notebook.captures(SCHEDULE)] == ["sch"]

    def test_a_copy_keeps_the_base(self, notebook: Notebook) -> None:
        notebook.run("first = tvm.s_tir.Schedule(build_model())")
        notebook.run("sch = first.copy()" + SCHEDULED)
        first, second = notebook.captures(SCHEDULE)
        assert second.name == "sch"
        assert second.base == first.base

    def test_an_untouched_one_is_told_apart_from_its_module(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model()")
        notebook.run("sch = tvm.s_tir.Schedule(mod)")
        notebook.run("again = mod")
        first, second = notebook.captures(SCHEDULE)
        assert (first.name, first.trace, first.base) == ("mod", None, None)
        assert (second.name, kinds(second.trace), second.base) == ("sch", [], first.module)

    def test_numbers_that_tvm_wrapped_stand_in_the_trace_as_numbers(
        self, notebook: Notebook
    ) -> None:
        notebook.run(
            "sch = tvm.s_tir.Schedule(build_model())\n"
            "loops = sch.get_loops(sch.get_sblock('conv2d_nchw', func_name='conv2d'))\n"
            "extent = sch.get(loops[2]).extent\n"
            "sch.split(loops[2], factors=[None, extent])"
        )
        (capture,) = notebook.captures(SCHEDULE)
        split = json.loads(capture.trace or b"")[0][-1]
        assert (split[0], split[1][-1]) == ("Split", 6)

    def test_a_trace_that_json_cannot_hold_is_left_out(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tvm.s_tir.schedule.Trace, "as_json", lambda self: [object()])
        notebook.run("sch = tvm.s_tir.Schedule(build_model())" + SCHEDULED)
        (capture,) = notebook.captures(SCHEDULE)
        assert capture.trace is None
        assert capture.base is not None

    def test_one_that_cannot_be_told_does_not_hide_another(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        trace = SeenSchedule.trace

        def refuse(known: SeenSchedule) -> bytes | None:
            if known.schedule.trace.insts:
                raise TypeError
            return trace(known)

        monkeypatch.setattr(SeenSchedule, "trace", refuse)
        notebook.run("sch = tvm.s_tir.Schedule(build_model())" + SCHEDULED)
        notebook.run(
            "sch.unroll(sch.get_loops(block)[1]); sch2 = tvm.s_tir.Schedule(build_model(3.0))"
        )
        assert [each.name for each in notebook.captures(SCHEDULE)] == ["sch2"]
        assert len(notebook.faults) == 2
        notebook.watcher.faults.texts.clear()

    def test_one_that_keeps_no_trace_is_a_candidate(self, notebook: Notebook) -> None:
        notebook.run("sch = tvm.s_tir.Schedule._create_non_traced(build_model())" + SCHEDULED)
        (capture,) = notebook.captures(SCHEDULE)
        assert (capture.name, capture.base, capture.trace) == ("sch", None, None)

    def test_an_error_in_the_call_is_the_students_alone(
        self, notebook: Notebook, capsys: pytest.CaptureFixture[str]
    ) -> None:
        notebook.run("sch = tvm.s_tir.Schedule(5)", fails=True)
        notebook.run("sch = tvm.s_tir.Schedule()", fails=True)
        assert "schedules.py" not in capsys.readouterr().out


class TestSchedulesWithoutAName:
    def test_one_in_a_function_is_found(self, notebook: Notebook) -> None:
        notebook.run(
            "def improve(mod):\n    sch = tvm.s_tir.Schedule(mod)\n"
            "    block = sch.get_sblock('conv2d_nchw', func_name='conv2d')\n"
            "    sch.parallel(sch.get_loops(block)[0])\n"
            "    return None"
        )
        notebook.run("improve(build_model())")
        (capture,) = notebook.captures(SCHEDULE)
        assert (capture.name, capture.by_name) == ("a local schedule", False)
        assert kinds(capture.trace) == ["GetSBlock", "GetLoops", "Parallel"]

    def test_its_module_under_a_name_is_the_same_candidate(self, notebook: Notebook) -> None:
        notebook.run(
            "def improve(mod):\n    sch = tvm.s_tir.Schedule(mod)\n"
            "    block = sch.get_sblock('conv2d_nchw', func_name='conv2d')\n"
            "    sch.parallel(sch.get_loops(block)[0])\n"
            "    return sch.mod"
        )
        notebook.run("new_mod = improve(build_model())")
        assert len(notebook.captures(SCHEDULE)) == 1

    def test_a_search_leaves_the_newest(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.inside.kernel.modules.LIVE_LIMIT", 4)
        monkeypatch.setattr("grader.inside.kernel.candidates.LOCAL_LIMIT", 2)
        notebook.run("sch = tvm.s_tir.Schedule(build_model())" + SCHEDULED)
        notebook.run(
            "mod = build_model()\n"
            "def search():\n"
            "    for axis in range(4):\n"
            "        trial = tvm.s_tir.Schedule(mod)\n"
            "        block = trial.get_sblock('conv2d_nchw', func_name='conv2d')\n"
            "        trial.unroll(trial.get_loops(block)[axis])\n"
            "search()"
        )
        notebook.run("sch.unroll(sch.get_loops(block)[1])")
        local = [each for each in notebook.captures(SCHEDULE) if not each.by_name]
        named = [each for each in notebook.captures(SCHEDULE) if each.name == "sch"]
        assert len(local) == 2
        assert [each.base is not None for each in named] == [True, True]


class TestModules:
    def test_a_module_merged_by_hand_is_a_candidate(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model()")
        notebook.run(
            "lone = tvm.s_tir.Schedule(mod['conv2d'].with_attr('global_symbol', 'main'))\n"
            "lone.parallel(lone.get_loops(lone.get_sblock('conv2d_nchw'))[0])\n"
            "new_mod = tvm.IRModule(mod.functions)\n"
            "new_mod.update_func(new_mod.get_global_var('conv2d'), lone.mod['main'])"
        )
        first, second = notebook.captures(SCHEDULE)
        assert (first.name, first.trace) == ("mod", None)
        assert (second.name, second.trace, second.base) == ("new_mod", None, None)
        assert "T.parallel" in load(second.module).script()

    def test_a_module_that_a_function_called_sch_returns_is_a_candidate(
        self, notebook: Notebook
    ) -> None:
        notebook.run("mod = build_model()")
        notebook.run(
            "def sch(mod):\n    s = tvm.s_tir.Schedule(mod)\n"
            "    s.parallel(s.get_loops(s.get_sblock('conv2d_nchw', func_name='conv2d'))[0])\n"
            "    return s"
        )
        capture = notebook.captures(SCHEDULE)[-1]
        assert (capture.name, capture.cell) == ("sch", 4)
        assert kinds(capture.trace) == ["GetSBlock", "GetLoops", "Parallel"]
        assert capture.base == notebook.captures(SCHEDULE)[0].module

    def test_a_function_that_makes_a_schedule_of_the_module_and_is_never_called_is(
        self, notebook: Notebook
    ) -> None:
        """Its author was told that there is no schedule, or that an example is no solution."""
        notebook.run("mod = build_model()")
        made = "def schedule_conv(mod):\n    s = tvm.s_tir.Schedule(mod)\n    return s"
        notebook.run(made)
        assert ["mod", "schedule_conv"] == [each.name for each in notebook.captures(SCHEDULE)]
        assert [] == kinds(notebook.captures(SCHEDULE)[-1].trace)

    def test_where_there_is_a_schedule_it_is_not_called(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model(); sch = tvm.s_tir.Schedule(mod)" + SCHEDULED)
        notebook.run("def schedule_conv(mod):\n    return tvm.s_tir.Schedule(mod)")
        assert "schedule_conv" not in [each.name for each in notebook.captures(SCHEDULE)]

    @pytest.mark.parametrize("takes", ["sch", "mod, block", "count", ""])
    def test_a_helper_of_something_else_is_not_called(self, notebook: Notebook, takes: str) -> None:
        notebook.run("mod = build_model(); sch = block = count = 3; import builtins")
        notebook.run("builtins.called = []")
        notebook.run(f"def schedule_conv({takes}): called.append(1)")
        assert notebook.run("called").result == []

    def test_helpers_that_only_match_a_pattern_are_not_called(self, notebook: Notebook) -> None:
        notebook.run("import builtins; builtins.called = []")
        notebook.run("def schedule_conv(): called.append(1)\ndef any_helper(): called.append(1)")
        assert notebook.run("called").result == []
        assert notebook.emitted == []

    def test_our_calls_make_no_schedule_of_the_notebooks(self, notebook: Notebook) -> None:
        notebook.run(
            "def create_model_via_emit_te():\n    return tvm.s_tir.Schedule(build_model()).mod"
        )
        assert notebook.captures(SCHEDULE) == []
        assert len(notebook.captures("emit_te")) == 1
