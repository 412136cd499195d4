"""Python functions that are themselves an answer: which are taken, when, and with what text."""

from __future__ import annotations

import linecache
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm_ffi

from grader.inside.kernel.candidates import source_of
from grader.messages.frames import decode_payload, encode_frame
from grader.messages.kernel import PYTHON_FUNCTION, SOURCE_LIMIT, Capture, EntrySpec
from tests.inside.kernel.conftest import PREAMBLE, Notebook

PART = "low_level"
ENTRIES = (EntrySpec(PART, "python", ("lnumpy_mlp", "lnumpy_mlp_*")),)

RELU = "def relu(X, Y):\n    for i in range(len(X)):\n        Y[i] = max(X[i], 0)\n"
MLP = "def lnumpy_mlp(data):\n    out = np.empty_like(data)\n    relu(data, out)\n    return out\n"


@pytest.fixture
def notebook(shell: Any) -> Iterator[Notebook]:
    """A notebook whose first cell imports NumPy."""
    notebook = Notebook(shell, ENTRIES)
    notebook.watcher.attach()
    notebook.run(PREAMBLE)
    yield notebook
    notebook.watcher.detach()
    assert [] == notebook.faults


def call(capture: Capture, *arguments: object) -> Any:
    """Call a captured function as an evaluator would."""
    return pickle.loads(capture.externs[PYTHON_FUNCTION])(*arguments)


def test_a_function_travels_with_what_it_uses(notebook: Notebook) -> None:
    notebook.run(RELU + "called = []")
    notebook.run(MLP.replace("return", "called.append(1); return"))
    (capture,) = notebook.captures(PART)
    assert ("lnumpy_mlp", 3, True, b"") == (
        capture.name, capture.cell, capture.by_name, capture.module,
    )  # fmt: skip
    assert [PYTHON_FUNCTION] == list(capture.externs)
    assert [0.0, 2.0] == list(call(capture, np.array([-1.0, 2.0])))
    assert notebook.run("called").result == []


def test_every_message_fits_the_protocol(notebook: Notebook) -> None:
    notebook.run(RELU + MLP)
    (capture,) = notebook.captures(PART)
    assert capture == decode_payload(encode_frame(capture)[8:], Capture)


class TestWhenItIsTaken:
    def test_once_while_nothing_changes(self, notebook: Notebook) -> None:
        notebook.run(RELU + MLP)
        notebook.run("lnumpy_mlp(np.zeros(2)); unrelated = 1")
        assert [2] == [each.cell for each in notebook.captures(PART)]

    def test_again_when_what_it_calls_has_changed(self, notebook: Notebook) -> None:
        notebook.run(RELU + MLP)
        notebook.run(RELU.replace("0", "1"))
        first, second = notebook.captures(PART)
        assert (2, 3) == (first.cell, second.cell)
        assert [1.0, 2.0] == list(call(second, np.array([-1.0, 2.0])))

    def test_not_again_as_it_was_before(self, notebook: Notebook) -> None:
        notebook.run("least = 0\ndef lnumpy_mlp(x):\n    return np.maximum(x, least)")
        notebook.run("least = 1")
        notebook.run("least = 0")
        assert [2, 3] == [each.cell for each in notebook.captures(PART)]

    def test_also_before_what_it_needs_is_there(self, notebook: Notebook) -> None:
        notebook.run(MLP)
        notebook.run(RELU)
        assert [2, 3] == [each.cell for each in notebook.captures(PART)]

    def test_names_may_carry_a_suffix(self, notebook: Notebook) -> None:
        notebook.run(RELU + MLP.replace("lnumpy_mlp", "lnumpy_mlp_2") + MLP)
        notebook.run("from numpy import zeros as lnumpy_mlp_zeros\nclass lnumpy_mlp_class: pass")
        assert ["lnumpy_mlp", "lnumpy_mlp_2"] == [each.name for each in notebook.captures(PART)]

    def test_one_that_is_registered_as_an_extern_is_taken_as_the_function_it_was(
        self, notebook: Notebook
    ) -> None:
        notebook.run(RELU + "@tvm.register_global_func('env.lnumpy_mlp')\n" + MLP)
        tvm_ffi.registry.remove_global_func("env.lnumpy_mlp")
        (capture,) = notebook.captures(PART)
        assert [0.0] == list(call(capture, np.array([-1.0])))


class TestWhatCannotBeTaken:
    def test_one_that_cannot_be_pickled_is_a_failure(self, notebook: Notebook) -> None:
        notebook.run(
            "def numbers(): yield 1\nstream = numbers()\ndef lnumpy_mlp(x):\n    return stream"
        )
        notebook.run("unrelated = 1")
        assert [] == notebook.captures(PART)
        (failure,) = notebook.failures(PART)
        assert ("extern_not_portable", "lnumpy_mlp", 2) == (
            failure.reason, failure.name, failure.cell,
        )  # fmt: skip

    def test_what_lies_about_itself_is_stepped_over(self, notebook: Notebook) -> None:
        notebook.run(
            "class Liar:\n    def __bool__(self): raise SystemExit\n"
            "    def __getattribute__(self, name): raise RuntimeError\n"
            "lnumpy_mlp_liar = Liar()"
        )
        notebook.run(RELU + MLP)
        assert ["lnumpy_mlp"] == [each.name for each in notebook.captures(PART)]


class TestItsText:
    def test_it_is_that_of_the_functions_that_it_reaches(self, notebook: Notebook) -> None:
        notebook.run("def unrelated(): pass\n\n\n" + RELU + "limit = 3")
        notebook.run("import functools\n@functools.lru_cache\n" + MLP + "after = 1")
        (capture,) = notebook.captures(PART)
        assert "@functools.lru_cache\n" + MLP + "\n" + RELU == capture.source

    def test_a_function_in_a_file_beside_the_notebook_has_one(self, notebook: Notebook) -> None:
        notebook.run("%%writefile layers.py\n" + RELU)
        notebook.run("from layers import relu\n" + MLP)
        assert MLP + "\n" + RELU == notebook.captures(PART)[0].source

    def test_that_of_a_library_is_left_out(self, notebook: Notebook) -> None:
        notebook.run("from textwrap import dedent\ndef lnumpy_mlp(x):\n    return dedent(x)")
        assert "def lnumpy_mlp(x):\n    return dedent(x)\n" == notebook.captures(PART)[0].source

    @pytest.mark.parametrize(
        ("text", "expected"),
        [("def f(x): '\ud800'\n", "def f(x): '?'\n"), ("def f(x):\n    return (x", "")],
        ids=["not encodable", "cut off"],
    )
    def test_text_that_is_damaged_does_no_harm(
        self, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
    ) -> None:
        scope: dict[str, Any] = {}
        exec(compile("def f(x): pass", "<damaged>", "exec"), scope)
        monkeypatch.setitem(linecache.cache, "<damaged>", (1, None, text.splitlines(True), ""))
        assert expected == source_of([scope["f"]], scope, ())

    def test_text_that_nobody_keeps_is_left_out(self, notebook: Notebook) -> None:
        notebook.run("exec('def lnumpy_mlp(x):\\n    return x')")
        assert [""] == [each.source for each in notebook.captures(PART)]

    def test_it_is_cut_off_where_a_message_may_not_be_longer(self, notebook: Notebook) -> None:
        filler = "    '" + "가" * (SOURCE_LIMIT // 2) + "'\n"
        notebook.run(f"def lnumpy_mlp(x):\n{filler}{filler}    return x")
        (capture,) = notebook.captures(PART)
        assert SOURCE_LIMIT == len(capture.source)
        assert capture == decode_payload(encode_frame(capture)[8:], Capture)
