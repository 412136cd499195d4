"""Spaces of schedules: applied to the notebook's module, sent with the trace that has its draws."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from grader.messages.kernel import ArgumentSpec, EntrySpec
from tests.inside.kernel.conftest import PREAMBLE, Notebook

MODULE = """
a, b = (te.placeholder((16, 16), name=name) for name in "ab")
k = te.reduce_axis((0, 16), name="k")
c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
Product = tvm.IRModule({"product": te.create_prim_func([a, b, c])})
"""
STEPS = """
    i, j, k = sch.get_loops(sch.get_sblock("c", func_name="product"))
    sch.split(i, sch.sample_perfect_tile(i, n=2))
"""
SPACE = f"def space(sch):{STEPS}"
FORMS = {
    "nothing returned": SPACE,
    "returned": f"{SPACE}    return sch",
    "a list of one": f"{SPACE}    return [sch]",
    "a generator": f"def steps(sch):{STEPS}"
    "space = tvm.s_tir.meta_schedule.space_generator.ScheduleFn(steps)",
    "a draw that may fail": "def space(sch):\n"
    "    i, _, _ = sch.get_loops(sch.get_sblock('c', func_name='product'))\n"
    "    sch.split(i, [sch.sample_categorical([1, 2, 4], [0.3, 0.3, 0.4]), 4])",
}


@pytest.fixture
def notebook(shell: Any) -> Iterator[Notebook]:
    """A notebook in which the imports ran, and nothing else."""
    entries = (
        EntrySpec("product", "module", ("Product",), holds="function"),
        EntrySpec(
            "space",
            "space",
            ("space", "space*"),
            holds="function",
            arguments=(ArgumentSpec("module", (), part="product"),),
        ),
    )
    opened = Notebook(shell, entries)
    opened.watcher.attach()
    opened.run(PREAMBLE)
    yield opened
    opened.watcher.detach()
    assert [] == opened.faults


@pytest.mark.parametrize("form", FORMS)
def test_a_space_is_sent_as_the_schedule_that_it_makes(notebook: Notebook, form: str) -> None:
    notebook.run(MODULE)
    notebook.run(FORMS[form])
    (capture,) = notebook.captures("space")
    assert ("space", True) == (capture.name, capture.by_name)
    instructions, decisions = json.loads(capture.trace or b"")
    assert any(each[0].startswith("Sample") for each in instructions)
    assert 1 == len(decisions)
    assert capture.base == notebook.captures("product")[0].module


def test_it_is_applied_as_soon_as_there_is_a_module_and_to_what_it_becomes(
    notebook: Notebook,
) -> None:
    notebook.run(SPACE)
    assert [] == notebook.captures("space") + notebook.failures("space")
    notebook.run(MODULE)
    notebook.run(MODULE.replace("a[i, k] *", "a[i, k] +"))
    assert 2 == len({each.base for each in notebook.captures("space")})


def test_it_is_applied_again_only_when_it_changes(notebook: Notebook) -> None:
    notebook.run("calls = []" + MODULE)
    notebook.run(f"{SPACE}    calls.append(sch)")
    notebook.run("x = 1")
    notebook.run(f"{SPACE}    pass")
    assert 1 == len(notebook.captures("space")), "the same schedule comes of it"
    notebook.run(SPACE.replace("n=2", "n=3"))
    assert 2 == len(notebook.captures("space"))


def test_the_notebooks_own_schedules_stay_as_they_are(notebook: Notebook) -> None:
    notebook.run(MODULE + "sch = tvm.s_tir.Schedule(Product)")
    notebook.run(SPACE)
    notebook.run("assert sch.mod['product'].same_as(Product['product'])")


@pytest.mark.parametrize(
    ("text", "reason", "told"),
    [
        (f"{SPACE}    return [sch, sch]", "raised", "gives 2 schedules"),
        (f"{SPACE}    return 5", "not_a_module", "int"),
        ("def space(sch):\n    raise NotImplementedError()", "raised", ""),
        ("def space(sch, extra):\n    pass", "raised", "extra"),
        ("def space(sch):\n    sch.get_sblock('none', func_name='product')", "raised", "none"),
    ],
)
def test_a_space_without_a_schedule_is_told(
    notebook: Notebook, text: str, reason: str, told: str
) -> None:
    notebook.run(MODULE)
    notebook.run(text)
    (failure,) = notebook.failures("space")
    assert reason == failure.reason
    assert told in failure.message
