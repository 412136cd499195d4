"""Passes: they are applied to the course's model as TVM imports it, and to nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tvm

from grader.inside.kernel.preload import keep_errors_of_python
from grader.messages.kernel import Capture, EntrySpec, ModelSpec
from tests.inside.kernel.conftest import PREAMBLE, Notebook

CODE = """
import torch
from torch import nn

class Sums(nn.Module):
    def __init__(self, seed):
        super().__init__()
        self.bias = nn.Parameter(torch.full((4,), float(seed)))

    def forward(self, x):
        return torch.tanh(x + self.bias)

MODELS = {"sums": Sums}
"""

FUNCTION = """
from tvm.relax.dpl import is_op, rewrite_call, wildcard

def without_tanh(function):
    x = wildcard()
    return rewrite_call(is_op("relax.tanh")(x), lambda call, found: found[x], function)
"""
BY_FUNCTION = """
@relax.transform.function_pass(opt_level=0)
def Remove(function, module, context):
    return without_tanh(function)
"""
BY_MODULE = """
    main = module.get_global_var("main")
    module.update_func(main, without_tanh(module["main"]))
    return module
"""
DECORATOR = "@tvm.transform.module_pass(opt_level=0)\n"
TAKEN = BY_FUNCTION.replace("Remove", "Taken")
FORMS = {
    "function_pass": BY_FUNCTION,
    "module_pass": f"{DECORATOR}def Remove(module, context):{BY_MODULE}",
    "class": f"{DECORATOR}class Remove:\n    def transform_module(self, module, context):"
    + BY_MODULE.replace("\n    ", "\n        "),
    "sequence": TAKEN + "Remove = tvm.transform.Sequential([Taken])",
    "function": f"def Remove(module):{BY_MODULE}",
    "with a context": f"def Remove(module, context):{BY_MODULE}",
    "maker": f"{TAKEN}def Remove():\n    return Taken",
}


def spec(seed: int = 5) -> EntrySpec:
    model = ModelSpec(code=CODE, name="sums", seed=seed, shapes=((2, 4),))
    return EntrySpec("pass", "pass", ("Remove", "Remove*"), model=model)


@pytest.fixture
def notebook(shell: Any) -> Iterator[Notebook]:
    """A notebook of which two cells ran: the imports, and a function that passes are made of."""
    opened = Notebook(shell, (spec(),))
    opened.watcher.attach()
    opened.run(PREAMBLE)
    opened.run(FUNCTION)
    yield opened
    opened.watcher.detach()
    assert [] == opened.faults


def operators(capture: Capture) -> list[str]:
    """Return the operators that `main` of a captured module calls."""
    found: list[str] = []

    def note(expression: Any) -> None:
        if isinstance(expression, tvm.relax.Call):
            found.append(expression.op.name)

    main = tvm.ir.load_json(capture.module.decode())["main"]
    tvm.relax.analysis.post_order_visit(main, note)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_a_pass_in_any_form_is_applied_to_the_model(notebook: Notebook, form: str) -> None:
    notebook.run(FORMS[form])
    assert [] == notebook.failures("pass")
    (capture,) = notebook.captures("pass")
    assert ("Remove", 3, True) == (capture.name, capture.cell, capture.by_name)
    assert ["relax.add"] == operators(capture)


def test_a_pass_is_applied_again_when_what_it_calls_is_mended(notebook: Notebook) -> None:
    notebook.run(BY_FUNCTION.replace("without_tanh(function)", "helper(function)"))
    assert [True] == ["helper" in each.message for each in notebook.failures("pass")]
    notebook.run("def helper(function):\n    return function")
    notebook.run("def helper(function):\n    return without_tanh(function)")
    found = [(each.cell, operators(each)) for each in notebook.captures("pass")]
    assert [(4, ["relax.add", "relax.tanh"]), (5, ["relax.add"])] == found


def test_a_pass_is_not_applied_again_when_nothing_has_changed(notebook: Notebook) -> None:
    notebook.run(BY_FUNCTION)
    notebook.run("import builtins; count = 7")
    notebook.run("x = np.zeros(3)")
    assert 1 == len(notebook.captures("pass"))


def test_what_one_pass_changes_in_place_is_whole_for_the_next(notebook: Notebook) -> None:
    notebook.run(FORMS["function"])
    notebook.run("def Remove(module):\n    return module")
    assert ["relax.add", "relax.tanh"] == operators(notebook.captures("pass")[-1])


def test_no_module_is_a_failure_that_says_what_came(notebook: Notebook) -> None:
    notebook.run("def Remove(module):\n    return module['main']")
    assert [("not_a_module", "Function")] == [
        (each.reason, each.message) for each in notebook.failures("pass")
    ]


@pytest.mark.parametrize("value", ["3", "relax.BlockBuilder().get()", "int", "print"])
def test_what_is_no_pass_is_not_applied(notebook: Notebook, value: str) -> None:
    notebook.run(f"Remove = {value}")
    assert [] == notebook.emitted


def test_an_unsolved_pass_is_told_by_its_error(notebook: Notebook) -> None:
    keep_errors_of_python()
    notebook.run(BY_FUNCTION.replace("return without_tanh(function)", "raise NotImplementedError"))
    assert ["NotImplementedError"] == [each.error_name for each in notebook.failures("pass")]


def test_the_notebook_notices_nothing(notebook: Notebook) -> None:
    notebook.run("import torch; _ = torch.manual_seed(1); expected = torch.rand(2)")
    notebook.run("_ = torch.manual_seed(1)\n" + BY_FUNCTION)
    assert notebook.run("bool((torch.rand(2) == expected).all())").result is True
    assert notebook.run("'MODELS' in globals() or 'Sums' in globals()").result is False
