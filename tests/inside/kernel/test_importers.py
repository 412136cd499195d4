"""Importers: they are given a model of the course's, which they may spoil, and its shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import tvm

from grader.inside.kernel.capture import Watcher
from grader.messages.kernel import Capture, EntrySpec, ModelSpec
from tests.inside.kernel.conftest import PREAMBLE, Notebook

CODE = """
import torch
from torch import nn

class Chain(nn.Module):
    def __init__(self, seed, width):
        super().__init__()
        torch.manual_seed(seed)
        self.linear = nn.Linear(4, width)
        self.drop = nn.Dropout()
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.relu(self.drop(self.linear(x)))

MODELS = {"narrow": lambda seed: Chain(seed, 2), "wide": lambda seed: Chain(seed, 3)}
"""

IMPORTER = """
def map_linear(bb, node_map, node, layer):
    x = node_map[node.args[0]]
    weight, bias = (relax.const(each.data.numpy()) for each in (layer.weight, layer.bias))
    return bb.emit_te(topi.add, bb.emit_te(topi.nn.dense, x, weight), bias)

def map_relu(bb, node_map, node, layer):
    return bb.emit_te(topi.nn.relu, node_map[node.args[0]])

def map_dropout(bb, node_map, node, layer):
    assert not layer.training
    return node_map[node.args[0]]

call_module_map = {torch.nn.Linear: map_linear, torch.nn.Dropout: map_dropout}

def translate(fx_mod, input_shapes, call_module_map):
    bb = relax.BlockBuilder()
    layers, node_map = dict(fx_mod.named_modules()), {}
    shapes = iter(input_shapes)
    with bb.function("main"):
        with bb.dataflow():
            for node in fx_mod.graph.nodes:
                if node.op == "placeholder":
                    shape = next(shapes)
                    assert type(shape) is tuple
                    x = node_map[node] = relax.Var("x", R.Tensor(shape, "float32"))
                elif node.op == "call_module":
                    layer = layers[node.target]
                    node_map[node] = call_module_map[type(layer)](bb, node_map, node, layer)
                else:
                    out = bb.emit_output(node_map[node.args[0]])
        bb.emit_func_output(out, [x])
    return bb.get()
"""

COMPLETE = "call_module_map[torch.nn.ReLU] = map_relu"
SIMPLE = """
def from_fx(fx_mod, input_shapes):
    rules = {**call_module_map, torch.nn.ReLU: map_relu}
    return translate(fx_mod, input_shapes, rules)
"""


def spec(part: str, name: str, code: str = CODE, seed: int = 5) -> EntrySpec:
    model = ModelSpec(code=code, name=name, seed=seed, shapes=((1, 4),))
    return EntrySpec(part, "importer", ("from_fx", "from_fx_*"), model=model)


@pytest.fixture
def open_notebook(shell: Any) -> Iterator[Callable[..., Notebook]]:
    """Opens a notebook with parts; its second cell has what an importer is made of."""
    opened: list[Notebook] = []

    def start(*entries: EntrySpec) -> Notebook:
        notebook = Notebook(shell, entries)
        opened.append(notebook)
        notebook.watcher.attach()
        notebook.run(PREAMBLE)
        notebook.run(IMPORTER)
        return notebook

    yield start
    for notebook in opened:
        notebook.watcher.detach()
        assert [] == notebook.faults


@pytest.fixture
def notebook(open_notebook: Callable[..., Notebook]) -> Notebook:
    return open_notebook(spec("narrow", "narrow"), spec("wide", "wide"))


def weight(capture: Capture) -> Any:
    """Return the largest constant of a captured module, shape (out, in)."""
    found: list[Any] = []

    def note(expression: Any) -> None:
        if isinstance(expression, tvm.ir.expr.GenericConst):
            found.append(expression.value.numpy())

    tvm.relax.analysis.post_order_visit(tvm.ir.load_json(capture.module.decode())["main"], note)
    return max(found, key=lambda values: values.size)


def drawn(width: int, seed: int = 5) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return torch.nn.Linear(4, width).weight.detach().numpy()


class TestWhatItIsGiven:
    def test_every_part_has_its_own_model(self, notebook: Notebook) -> None:
        notebook.run(SIMPLE)
        for part, width in (("narrow", 2), ("wide", 3)):
            (capture,) = notebook.captures(part)
            assert ("from_fx", 3, True) == (capture.name, capture.cell, capture.by_name)
            assert (drawn(width) == weight(capture)).all()

    @pytest.mark.parametrize(
        "definition",
        [
            "def from_fx(fx_mod, input_shapes, call_module_map):\n"
            "    return translate(fx_mod, input_shapes, call_module_map)",
            "def from_fx(fx_mod, call_module_map, shapes):\n"
            "    return translate(fx_mod, shapes, call_module_map)",
            "def from_fx(fx_mod, /, rules=call_module_map, *, input_shapes):\n"
            "    return translate(fx_mod, input_shapes, rules)",
            "def from_fx(graph, sizes, call_module_map=call_module_map):\n"
            "    return translate(graph, sizes, call_module_map)",
            "def from_fx(fx_mod):\n    return translate(fx_mod, [(1, 4)], call_module_map)",
            "def from_fx(fx_mod, input_shapes=None, rules=call_module_map):\n"
            "    return translate(fx_mod, input_shapes, rules)",
            "def from_fx(fx_mod=None, input_shapes=None):\n"
            "    return translate(fx_mod, input_shapes, call_module_map)",
            "def from_fx(*given):\n    return translate(*given, call_module_map)",
            "import functools\n"
            "from_fx = functools.partial(translate, call_module_map=call_module_map)",
            "class Importer:\n    def run(self, fx_mod, input_shapes):\n"
            "        return translate(fx_mod, input_shapes, call_module_map)\n"
            "from_fx = Importer().run",
        ],
        ids=[
            "map",
            "last",
            "keyword",
            "second",
            "alone",
            "default",
            "all",
            "star",
            "partial",
            "method",
        ],
    )
    def test_model_and_shapes_find_their_parameters(
        self, notebook: Notebook, definition: str
    ) -> None:
        notebook.run(COMPLETE)
        notebook.run(definition)
        assert [] == notebook.failures("narrow")
        assert [4] == [each.cell for each in notebook.captures("narrow")]

    def test_what_the_notebook_does_not_have_is_named_and_awaited(self, notebook: Notebook) -> None:
        notebook.run(COMPLETE + "\ndef from_fx(fx_mod, input_shapes, rules):\n"
                     "    return translate(fx_mod, input_shapes, rules)")  # fmt: skip
        assert [("needs_arguments", "rules")] == [
            (each.reason, each.message) for each in notebook.failures("wide")
        ]
        notebook.run("rules = call_module_map")
        assert [4] == [each.cell for each in notebook.captures("wide")]

    def test_what_one_call_spoils_is_whole_for_the_next(self, notebook: Notebook) -> None:
        spoilt = SIMPLE.replace("return", "made =") + (
            "    fx_mod.linear.weight.data.zero_(); input_shapes.clear()\n    return made"
        )
        notebook.run(spoilt)
        notebook.run(spoilt.replace("return made", "return made.with_attr('again', 1)"))
        first, second = notebook.captures("narrow")
        assert (3, 4) == (first.cell, second.cell)
        assert (drawn(2) == weight(second)).all()


class TestWhenItIsCalled:
    def test_again_when_what_it_depends_on_has_changed(self, notebook: Notebook) -> None:
        notebook.run("def from_fx(m, shapes):\n    return translate(m, shapes, call_module_map)")
        notebook.run("1")
        notebook.run(COMPLETE)
        assert ["KeyError"] == [each.error_name for each in notebook.failures("narrow")]
        assert [5] == [each.cell for each in notebook.captures("narrow")]

    def test_a_module_alone_is_no_answer(self, notebook: Notebook) -> None:
        notebook.run("def other(m, shapes):\n    pass\nfrom_fx = relax.BlockBuilder().get()")
        assert [] == notebook.emitted

    def test_the_course_s_code_runs_once_and_only_for_an_importer(
        self, open_notebook: Callable[..., Notebook]
    ) -> None:
        code = CODE + "\nimport builtins\nbuiltins.ran = getattr(builtins, 'ran', 0) + 1\n"
        notebook = open_notebook(spec("one", "narrow", code), spec("two", "narrow", code))
        notebook.run("import builtins; builtins.ran = 0")
        notebook.run("ran_before = ran")
        notebook.run(SIMPLE)
        notebook.run(SIMPLE)
        assert (0, 1) == notebook.run("ran_before, ran").result


class TestTheNotebookNoticesNothing:
    def test_random_state_and_names_stay(self, notebook: Notebook) -> None:
        notebook.run("_ = torch.manual_seed(1); expected = torch.rand(2)")
        notebook.run("_ = torch.manual_seed(1)\n" + SIMPLE)
        assert notebook.run("bool((torch.rand(2) == expected).all())").result is True
        assert notebook.run("'MODELS' in globals() or 'Chain' in globals()").result is False

    def test_pytorch_s_defaults_in_the_notebook_do_not_reach_the_model(
        self, notebook: Notebook
    ) -> None:
        notebook.run("torch.set_default_dtype(torch.float64)")
        notebook.run("torch.set_default_device('meta')\n" + SIMPLE)
        dtype = notebook.run("torch.set_default_device(None); torch.get_default_dtype()")
        torch.set_default_dtype(torch.float32)
        assert torch.float64 == dtype.result
        assert (drawn(2) == weight(notebook.captures("narrow")[0])).all()


@pytest.mark.parametrize(
    "code", ["raise KeyError('ours')", "MODELS = {}", CODE.replace("return self", "if x: 1 #")]
)
def test_bad_code_of_the_course_is_not_the_student_s_fault(shell: Any, code: str) -> None:
    emitted: list[Any] = []
    watcher = Watcher(shell, (spec("narrow", "narrow", code),), emitted.append)
    watcher.attach()
    for cell in (PREAMBLE, IMPORTER, SIMPLE, SIMPLE):
        assert shell.run_cell(cell, store_history=True).success
    watcher.detach()
    assert [] == emitted
    assert 1 == len(watcher.faults.texts)
    assert "the course's model 'narrow' cannot be made" in watcher.faults.texts[0]
