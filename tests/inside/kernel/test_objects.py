"""Looking at objects: names in the right order, types that do not lie, files of one's own.

Fingerprints: equal while nothing that a function looks up was bound anew, and only then.
"""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import tvm

from grader.inside.kernel.objects import (
    fingerprint,
    global_names,
    is_a,
    is_local_file,
    is_module,
    public_values,
    ranked,
    type_name,
)
from tests.inside.kernel.conftest import Notebook


def test_exact_names_come_first_wherever_they_stand() -> None:
    assert ranked(["sch_b", "sch", "mod"], ("sch*", "sch")) == ["sch", "sch_b"]


def test_patterns_count_in_their_order_and_names_in_theirs() -> None:
    assert ranked(["b2", "a2", "b1"], ("a*", "b*")) == ["a2", "b2", "b1"]


def test_public_names_are_identifiers_without_an_underscore() -> None:
    namespace = {"a": 1, "_b": 2, "c d": 3, "\ud800": 4, "e": 5}
    assert public_values(namespace) == {"a": 1, "e": 5}


def test_a_class_that_pretends_is_seen_through() -> None:
    class Pretender:
        __class__ = tvm.IRModule  # type: ignore[assignment]

    assert isinstance(Pretender(), tvm.IRModule)
    assert not is_a(Pretender(), tvm.IRModule)
    assert type_name(Pretender()) == "Pretender"


def test_an_object_without_content_is_no_module() -> None:
    assert not is_module(tvm.IRModule.__new__(tvm.IRModule))


@pytest.mark.parametrize(
    ("path", "local"),
    [
        ("/notebook/helper.py", True),
        ("/notebook/package/helper.py", True),
        ("/notebook2/helper.py", False),
        ("/notebook/.venv/lib/site-packages/numpy/core.py", False),
        (None, False),
        (3, False),
    ],
)
def test_files_beside_the_notebook_are_its_own(path: object, local: bool) -> None:
    assert is_local_file(path, ("/notebook",)) is local


@pytest.mark.parametrize("module", [np, random])
def test_files_of_the_environment_are_not(module: ModuleType) -> None:
    path = str(module.__file__)
    assert not is_local_file(path, (str(Path(path).parent),))


def prints_differ(notebook: Notebook, change: str) -> bool:
    """Say whether the fingerprint of `f` differs after a cell."""
    namespace = notebook.shell.user_ns
    before = fingerprint(namespace["f"], ("asked",), namespace, ())
    notebook.run(change)
    return before.tokens != fingerprint(namespace["f"], ("asked",), namespace, ()).tokens


class TestFingerprint:
    @pytest.mark.parametrize(
        ("definition", "change"),
        [
            ("def f(): pass", "def f(): pass"),
            ("def f(): return a", "a = 1"),
            ("a = 1\ndef f(): return a", "a = 2"),
            ("a = 1\ndef f(): return a", "a = 1.0"),
            ("a = 1\ndef f(): return a", "a = True"),
            ("a = 1\ndef f(): return a", "del a"),
            ("def g(): return a\ndef f(): return g()", "a = 1"),
            ("def g(): return a\ndef f(x=g): return x()", "a = 1"),
            ("def g(): return a\ndef f(): return [g() for _ in range(2)]", "a = 1"),
            ("def g(): return a\ndef f():\n    def h(): return g()\n    return h", "a = 1"),
            (
                "def g(): return a\ndef make():\n    h = g\n    return lambda: h()\nf = make()",
                "a = 1",
            ),
            ("import functools\ndef g(): return a\nf = functools.partial(g)", "a = 1"),
            ("import functools\n@functools.lru_cache\ndef f(): return a", "a = 1"),
            ("class C:\n    def m(self): return a\ndef f(): return C()", "a = 1"),
            ("class C:\n    @staticmethod\n    def m(): return a\ndef f(): return C.m()", "a = 1"),
            ("class C:\n    def m(self): return a\nf = C().m", "a = 1"),
            ("class C:\n    def __call__(self): return a\nf = C()", "a = 1"),
            ("d = {}\ndef f(): return d", "d['k'] = 1"),
            ("d = {'k': 1}\ndef f(): return d", "d['k'] = 2"),
            ("def g(): return a\nd = [g]\ndef f(): return d", "a = 1"),
            (
                "m = build_model()\ndef f(): return m",
                "m.update_func(m.get_global_var('relu'), m['relu'].with_attr('a', 1))",
            ),
            (
                "s = tvm.s_tir.Schedule(build_model())\ndef f(): return s",
                "s.unroll(s.get_loops(s.get_sblock('compute', func_name='relu'))[0])",
            ),
            ("def f(asked): return asked", "asked = 1"),
        ],
    )
    def test_it_changes_with_what_the_function_looks_up(
        self, notebook: Notebook, definition: str, change: str
    ) -> None:
        notebook.run(definition)
        assert prints_differ(notebook, change)

    @pytest.mark.parametrize(
        ("definition", "change"),
        [
            ("def f(): return 1", "a = 1"),
            ("x = object()\ndef f(): return x.a", "a = 1"),
            ("a = (4, 1, 28, 28)\ndef f(): return a[0]", "f(); f()"),
            ("a = 1.5\ndef f(): return a", "a = 3.0 / 2.0"),
            ("a = float('nan')\ndef f(): return a", "a = float('nan')"),
            ("m = build_model()\ndef f(): return m", "m.script()"),
            ("def f(): return np.zeros(3)", "np.zeros(4)"),
        ],
    )
    def test_it_stays_with_everything_else(
        self, notebook: Notebook, definition: str, change: str
    ) -> None:
        notebook.run(definition)
        assert not prints_differ(notebook, change)

    def test_what_goes_by_identity_is_kept(self, notebook: Notebook) -> None:
        notebook.run("class C: pass\na = C()\ndef f(): return a")
        namespace = notebook.shell.user_ns
        kept = fingerprint(namespace["f"], (), namespace, ()).kept
        assert any(each is namespace["a"] for each in kept)


def test_global_names_are_those_that_are_read() -> None:
    def function(x: object) -> object:
        class Inner:
            value = first  # type: ignore[name-defined]  # noqa: F821

        return [second(x.third, Inner) for _ in ()]  # type: ignore[name-defined,attr-defined]  # noqa: F821

    assert {"first", "second"} <= set(global_names(function.__code__))
    assert not {"third", "x"} & set(global_names(function.__code__))
