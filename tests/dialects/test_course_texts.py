"""Every code block of the course's texts runs on the TVM that is installed, after migration."""

from __future__ import annotations

import re

import pytest

from grader.dialects.migration import migrate_cells
from grader.sandbox.interface import Sandbox
from tests.dialects.course import Text, run
from tests.missing import needs_course_texts

pytestmark = needs_course_texts

PRELUDE = """
import pickle
import numpy as np
import torch
import torchvision
import tvm
from tvm import relax
from tvm.script import ir as I, relax as R, tir as T

test_data = torchvision.datasets.FashionMNIST("data", train=False, download=True)
pixels = np.array(test_data[0][0], dtype="float32") / 255
data_nd = tvm.nd.array(pixels.reshape(1, 784))
with open("fasionmnist_mlp_params.pkl", "rb") as file:
    nd_params = {name: tvm.nd.array(value) for name, value in pickle.load(file).items()}
"""
"""Text 001 is the second half of a notebook: this is what the first one has made."""

TOPI = """
            y = bb.emit_te(topi.nn.conv2d, x, conv2d_weight, 1, 0, 1, layout="NCHW")
            y = bb.emit_te(topi.nn.relu, bb.emit_te(topi.add, y, conv2d_bias))
            y = bb.emit_te(topi.nn.pool2d, y, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")
            y = bb.emit_te(topi.nn.flatten, y)
            y = bb.emit_te(topi.nn.dense, y, linear0_weight)
            y = bb.emit_te(topi.nn.relu, bb.emit_te(topi.add, y, linear0_bias))
            y = bb.emit_te(topi.nn.dense, y, linear1_weight)
            y = bb.emit_te(topi.nn.softmax, bb.emit_te(topi.add, y, linear1_bias))
            gv = bb.emit_output(y)
"""
EXTERN = TOPI.replace(
    'bb.emit_te(topi.nn.conv2d, x, conv2d_weight, 1, 0, 1, layout="NCHW")',
    'bb.emit(relax.op.call_tir("env.conv2d", relax.Tuple([x, conv2d_weight]), '
    '(4, 32, 26, 26), dtype="float32"))',
)
REGISTERED = """
@tvm.register_func("env.conv2d", override=True)
def torch_conv2d(x: tvm.nd.NDArray, w: tvm.nd.NDArray, out: tvm.nd.NDArray):
    out_torch = torch.from_dlpack(out)
    out_torch.copy_(F.conv2d(torch.from_dlpack(x), torch.from_dlpack(w)))


def create_model_with_torch_func():
"""
SCHEDULED = """
block = sch.get_block("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_block("pad_temp", func_name="conv2d"))
n, f, y, x, *rest = sch.get_loops(block)
sch.parallel(sch.fuse(n, f))
sch.vectorize(x)
sch.decompose_reduction(block, rest[0])
"""
TODO = "            # TODO\n            ...\n"

TEXTS = (
    Text("000", count=6, dialect="2022", predictions=(2, 3)),
    Text(
        "001",
        count=13,
        dialect="2023-24",
        prelude=PRELUDE,
        schematic={
            6: "a function without its module, with an operator for side effects",
            9: "a call without the function around it",
            13: "printed output stands below the code, and refers to constants beside it",
        },
    ),
    Text(
        "002",
        count=29,
        dialect="2022",
        predictions=(6, 7, 13, 21, 25, 27, 29),
        schematic={
            9: "a call without the function around it",
            11: "a signature with `...` among its parameters",
            14: "a block without the function around it",
            15: "a function without its module, with an operator for side effects",
            23: "a call without the function around it",
        },
    ),
    Text(
        "003",
        count=15,
        dialect="2022",
        accuracy={5: 84},
        completed={
            8: ((TODO, TOPI),),
            10: ((TODO, EXTERN), ("\ndef create_model_with_torch_func():\n", REGISTERED)),
            14: (("# TODO\n", SCHEDULED),),
        },
        schematic={9: "an example within a text, with `...` for the rest of a function"},
    ),
    Text("004_reflowed", count=24, dialect="2022", predictions=(21, 23)),
)
"""Text 003 compares its models with PyTorch's in blocks 8, 10 and 15: they raise if it differs."""


@pytest.fixture(params=TEXTS, ids=lambda text: text.name)
def text(request: pytest.FixtureRequest) -> Text:
    """Each text in turn."""
    chosen: Text = request.param
    return chosen


def test_every_block_runs_but_the_schematic_ones_and_gives_what_the_text_states(
    text: Text, sandbox: Sandbox
) -> None:
    """One test for each text, because its blocks run one after the other."""
    done = run(text, sandbox)
    unexpected = {
        block: problem for block, problem in done.problems().items() if block not in text.schematic
    }
    assert {} == unexpected
    assert text.schematic.keys() == done.problems().keys()
    for block, percent in text.accuracy.items():
        assert [str(percent)] == re.findall(r"Accuracy: \d+/\d+ \((\d+)%\)", done.output(block))
    named = [re.findall(r"Prediction: (.+)", done.output(block)) for block in text.predictions]
    assert [1] * len(named) == [len(each) for each in named]
    assert 1 >= len({each[0] for each in named})


def test_all_of_its_blocks_are_found(text: Text) -> None:
    assert text.count == len(text.blocks())


def test_its_dialect_is_recognised(text: Text) -> None:
    assert text.dialect == migrate_cells(text.blocks()).dialect


def test_what_was_migrated_is_not_changed_again(text: Text) -> None:
    once = migrate_cells(text.blocks()).sources
    assert once == migrate_cells(once).sources
