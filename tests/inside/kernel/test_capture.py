"""The capture as a whole: it watches every cell, harms none, and costs next to nothing."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest
import tvm
import tvm_ffi

from grader.inside.kernel.capture import Watcher, install
from grader.inside.kernel.sender import CAPTURE_LIMIT
from grader.messages.frames import decode_payload, encode_frame
from grader.messages.kernel import Capture, EntrySpec
from tests.inside.kernel.conftest import BUILDER, ENTRIES, PREAMBLE, SCHEDULED, Notebook

ENTRY = "def create_model_via_emit_te():\n    return build_model()\n"

WEIRD = """
class Liar:
    @property
    def __class__(self): raise RuntimeError
    def __eq__(self, other): raise RuntimeError
    __hash__ = None
    def __bool__(self): raise RuntimeError
    def __repr__(self): raise RuntimeError
    def __getattribute__(self, name): raise RuntimeError(name)
    def __len__(self): raise SystemExit
    def __iter__(self): raise SystemExit
    def __call__(self): raise SystemExit

class Pretender:
    @property
    def __class__(self): return tvm.IRModule
    def __getattr__(self, name): return Pretender()
    def __call__(self, *a, **k): return Pretender()
    def __eq__(self, other): return True
    __hash__ = None

class Meta(type):
    def __getattribute__(cls, name): raise RuntimeError(name)
    def __instancecheck__(cls, value): raise RuntimeError
    def __eq__(cls, other): raise RuntimeError
    __hash__ = None

class Odd(metaclass=Meta): pass

class Empty(tvm.IRModule):
    def __init__(self): pass

liar = sch_liar = Liar()
pretender = mod = sch = Pretender()
create_model_via_emit_te_2 = Pretender()
odd = Odd
odd_object = object.__new__(Odd)
empty = tvm.IRModule.__new__(tvm.IRModule)
other = Empty()
hollow = tvm.s_tir.Schedule.__new__(tvm.s_tir.Schedule)
globals()[1] = 2
globals()["not a name"] = build_model(3.0)
globals()["\\ud800"] = build_model(4.0)
recursive = []
recursive.append(recursive)
def helper(weird=(liar, pretender, recursive, odd)): return liar, odd, recursive, odd_object
"""


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGINT, also in a process that was started in the background."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def detached() -> Iterator[None]:
    """Take hooks that `install` has set out of TVM again."""
    construct, copy = tvm.s_tir.Schedule.__init__, tvm.s_tir.Schedule.copy
    register = tvm_ffi.core._register_global_func
    yield
    tvm.s_tir.Schedule.__init__, tvm.s_tir.Schedule.copy = construct, copy
    tvm_ffi.core._register_global_func = register


def test_install_watches_from_the_next_cell_on(shell: Any, detached: None) -> None:
    emitted: list[Any] = []
    install(shell, ENTRIES, emitted.append)
    for cell in (PREAMBLE, BUILDER, ENTRY, "sch = tvm.s_tir.Schedule(build_model())" + SCHEDULED):
        assert shell.run_cell(cell, store_history=True).success
    assert [(each.part, each.name, each.cell) for each in emitted] == [
        ("emit_te", "create_model_via_emit_te", 3),
        ("schedule", "sch", 4),
    ]


def test_every_message_fits_the_protocol(notebook: Notebook) -> None:
    notebook.run(ENTRY)
    (capture,) = notebook.emitted
    assert decode_payload(encode_frame(capture)[8:], Capture) == capture


def test_weird_objects_in_the_notebook_are_stepped_over(
    notebook: Notebook, capfd: pytest.CaptureFixture[str]
) -> None:
    notebook.run(WEIRD)
    notebook.run(
        "def create_model_via_emit_te(liar):\n    helper, odd, pretender\n    return build_model()"
    )
    notebook.run("again = 1")
    assert capfd.readouterr() == ("", "")
    named = [each for each in notebook.captures("emit_te") if each.name[-1] == "e"]
    assert [each.cell for each in named] == [4]
    assert [each.message for each in notebook.failures("emit_te")] == ["Pretender"]
    assert {each.name.isidentifier() for each in notebook.emitted} == {True}


def test_a_name_that_was_asked_for_and_is_no_module_is_told_once(shell: Any) -> None:
    notebook = Notebook(shell, (EntrySpec("bound", "module", ("bound", "bound_*")),))
    notebook.watcher.attach()
    for cell in (PREAMBLE, "bound_2 = 1\ndef bound(): raise KeyError", "bound = None", "x = 1"):
        notebook.run(cell)
    notebook.watcher.detach()
    failures = [(each.reason, each.cell, each.message) for each in notebook.failures("bound")]
    assert [("raised", 2, ""), ("other_type", 3, "NoneType")] == failures


class TestCells:
    def test_what_a_magic_runs_inside_a_cell_is_no_cell(self, notebook: Notebook) -> None:
        notebook.run("%%capture output\n" + ENTRY)
        notebook.run("get_ipython().run_cell('a = 1')\nmod = build_model(2.0)")
        assert [each.cell for each in notebook.captures("emit_te")] == [3, 4]
        assert [each.cell for each in notebook.captures("schedule")] == [4]

    def test_what_an_entry_point_runs_is_no_cell(self, notebook: Notebook) -> None:
        notebook.run(
            "def create_model_via_emit_te():\n"
            "    get_ipython().run_cell('mod = 1')\n    return build_model()"
        )
        notebook.run("mod = build_model(2.0)")
        assert [each.cell for each in notebook.captures("schedule")] == [4]

    def test_a_line_that_a_magic_shifted_is_not_told(self, notebook: Notebook) -> None:
        notebook.run("%%capture output\ndef create_model_via_emit_te():\n    raise KeyError")
        notebook.run("%%time\ndef create_model_via_emit_te():\n    raise ValueError")
        assert [(each.cell, each.line) for each in notebook.failures("emit_te")] == [
            (3, None),
            (4, None),
        ]

    def test_a_cell_inside_another_is_not_taken_for_the_next(self, notebook: Notebook) -> None:
        notebook.run("%%capture\ndef create_model_via_emit_te():\n    raise ValueError(a)")
        notebook.run("a = 1\nb = 2\nc = 3")
        assert [(each.cell, each.line) for each in notebook.failures("emit_te")] == [
            (3, None),
            (3, None),
        ]

    def test_a_cell_whose_end_was_never_told_is_over_with_the_next(
        self, notebook: Notebook
    ) -> None:
        post = notebook.shell.events.callbacks["post_run_cell"]
        hidden = post.copy()
        post.clear()
        notebook.run(ENTRY)
        post.extend(hidden)
        notebook.run("1")
        assert [each.cell for each in notebook.captures("emit_te")] == [4]

    def test_a_cell_that_was_broken_off_is_over(self, notebook: Notebook) -> None:
        notebook.shell.user_ns["finish"] = lambda: notebook.watcher.end_cell(None)
        notebook.run(ENTRY + "finish()")
        assert [each.cell for each in notebook.captures("emit_te")] == [3]


class TestNothingReachesTheCell:
    def test_an_error_of_ours_is_kept_for_developers(
        self, shell: Any, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def refuse(_: object) -> None:
            raise BrokenPipeError("nobody listens")

        watcher = Watcher(shell, ENTRIES, refuse)
        watcher.attach()
        for cell in (PREAMBLE, BUILDER, ENTRY, "mod = build_model()"):
            assert shell.run_cell(cell, store_history=True).success
        watcher.detach()
        assert capfd.readouterr() == ("", "")
        assert {text.splitlines()[-1] for text in watcher.faults.texts} == {
            "BrokenPipeError: nobody listens"
        }

    def test_an_interrupt_waits_until_a_message_is_whole(
        self, shell: Any, interrupts: None, capfd: pytest.CaptureFixture[str]
    ) -> None:
        whole: list[object] = []

        def emit(message: object) -> None:
            signal.raise_signal(signal.SIGINT)
            whole.append(message)

        watcher = Watcher(shell, ENTRIES, emit)
        watcher.attach()
        for cell in (PREAMBLE, BUILDER, ENTRY):
            assert shell.run_cell(cell, store_history=True).success
        watcher.detach()
        assert capfd.readouterr() == ("", "")
        assert len(whole) == 1
        assert [text.splitlines()[-1] for text in watcher.faults.texts] == ["KeyboardInterrupt"]

    def test_names_deleted_and_reset_are_no_matter(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model(); sch = tvm.s_tir.Schedule(mod)\n" + ENTRY)
        notebook.run("del mod, sch, create_model_via_emit_te")
        notebook.run("%reset -f")
        notebook.run(PREAMBLE + BUILDER + ENTRY)
        assert len(notebook.captures("emit_te")) == 1

    def test_detached_it_leaves_no_trace(self, shell: Any) -> None:
        before = (tvm.s_tir.Schedule.__init__, tvm.s_tir.Schedule.copy)
        register = tvm_ffi.core._register_global_func
        watcher = Watcher(shell, ENTRIES, lambda _: None)
        watcher.attach()
        watcher.detach()
        assert (tvm.s_tir.Schedule.__init__, tvm.s_tir.Schedule.copy) == before
        assert tvm_ffi.core._register_global_func is register


class TestLimits:
    def test_captures_of_one_part_are_limited(self, notebook: Notebook) -> None:
        notebook.run(f"mods = [build_model(float(i)) for i in range({CAPTURE_LIMIT} + 10)]")
        notebook.run("globals().update({f'mod{i}': mod for i, mod in enumerate(mods)})")
        assert len(notebook.captures("schedule")) == CAPTURE_LIMIT
        assert len(notebook.captures("emit_te")) == 24

    def test_a_function_that_always_changes_is_not_called_for_ever(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.inside.kernel.entry_points.CALL_LIMIT", 3)
        notebook.run("count = 0\ndef create_model_via_emit_te():\n    return build_model(count)")
        for _ in range(5):
            notebook.run("count += 1")
        assert len(notebook.captures("emit_te")) == 3

    def test_a_module_too_large_for_a_message_is_a_failure(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.inside.kernel.sender.MODULE_SIZE_LIMIT", 100)
        notebook.run(ENTRY)
        assert [each.reason for each in notebook.failures("emit_te")] == ["cannot_be_saved"]


def test_cells_that_change_nothing_have_nothing_sent(notebook: Notebook) -> None:
    notebook.run("globals().update({f'value{i}': object() for i in range(300)})")
    notebook.run("tvm.register_global_func('env.cost', lambda x, w, out: None)")
    notebook.run(
        ENTRY + "def create_model_with_torch_func():\n    return build_model(extern='env.cost')"
    )
    notebook.run("mod = build_model(2.0); sch = tvm.s_tir.Schedule(mod)" + SCHEDULED)
    sent = len(notebook.emitted)
    for _ in range(20):
        notebook.watcher.begin_cell(type("Info", (), {"store_history": True, "raw_cell": ""}))
        notebook.watcher.end_cell(None)
    tvm_ffi.registry.remove_global_func("env.cost")
    assert sent == len(notebook.emitted)


def test_parts_may_be_of_any_number(shell: Any) -> None:
    emitted: list[Any] = []
    watcher = Watcher(shell, (EntrySpec("only", "schedule", ("answer",)),), emitted.append)
    watcher.attach()
    for cell in (PREAMBLE, BUILDER, "answer = build_model()", "elsewhere = build_model(2.0)"):
        assert shell.run_cell(cell, store_history=True).success
    watcher.detach()
    assert [(each.part, each.name, each.by_name) for each in emitted] == [
        ("only", "answer", True),
        ("only", "elsewhere", False),
    ]
