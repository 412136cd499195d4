"""What students really write: accepted, each with its points."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from tests.dialects.older import in_dialect, solved
from tests.dialects.untimed import notebook
from tests.endtoend.batches import GradedBatch
from tests.endtoend.cells import EMIT_TE, EXTERN, PRELUDE

BATCH_OF_ONE = EMIT_TE.replace("(4, 1, 28, 28)", "(batch_size, *input_shape[1:])")

IMPORTS = f"""
!wget -nc https://example.org/fasionmnist.pkl
!pip install torchsummary tabulate
%matplotlib inline
from tabulate import tabulate
from torchsummary import summary
from pygments import highlight
from pygments.lexers import Python3Lexer
import matplotlib.pyplot as plt
{PRELUDE}
"""

SHOWN = """
import torch
network = torch.nn.Sequential(torch.nn.Linear(4, 2))
if torch.cuda.is_available():
    network = network.cuda()
summary(network, (4,), device="cpu")
print(tabulate([["layer", "shape"]], headers="firstrow"))
plt.imshow(np.zeros((2, 2)))
plt.show()
"""

ON_A_CARD = "torch.nn.Linear(4, 2).cuda()"

HELD = """
import logging, threading

lock, log = threading.Lock(), open("calls.log", "w")

@torch.jit.script
def compiled_conv2d(x, w, b):
    return torch.conv2d(x, w, b)

"""

HOLDING = (
    EXTERN.replace("import torch\n", f"import torch\n{HELD}")
    .replace("    result = torch.conv2d(", "    log.write('called')\n    result = compiled_conv2d(")
    .replace(
        "    torch.from_dlpack(out).copy_(result)",
        "    with lock:\n        torch.from_dlpack(out).copy_(result)",
    )
)

SCRIPT = f'''#!/usr/bin/env python
"""Homework, written in an editor."""
import sys
{PRELUDE}
!pip install apache-tvm

{EMIT_TE}
assert create_model_via_emit_te() is None, "a check that fails does not end the rest"

{EXTERN}

def main(arguments):
    create_model_with_torch_func().show()


if __name__ == "__main__":
    main(sys.argv)
'''

PROGRAM = f'''# -*- coding: latin-1 -*-
"""Homework as a program: it knows where it lies, takes options and ends by itself."""
import argparse, os, sys
{PRELUDE}
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
name = "é"
assert len(name) == 1

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
options = parser.parse_args()

{EMIT_TE}

{EXTERN}

if __name__ == "__main__":
    create_model_via_emit_te().show()
    sys.exit(0)
'''

MARKDOWN = "# Homework\n\n{}\n\nIt prints this:\n\n```\n12\n```\n"


def renamed(cells: list[str], **names: str) -> list[str]:
    """Return cells with other names for what they define."""
    text = "\0".join(cells)
    for old, new in names.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text.split("\0")


def fenced(*cells: str) -> bytes:
    """Return Markdown with cells as blocks of Python."""
    return MARKDOWN.format("\n\nWords.\n\n".join(f"```python{cell}```" for cell in cells)).encode()


def conv(*cells: str) -> bytes:
    return notebook("e2e-conv", list(cells))


def tensorir(**names: str) -> bytes:
    return notebook("tensorir", renamed(solved("tensorir"), **names))


EMIT, BOTH = {"emit_te": 40}, {"emit_te": 40, "torch_extern": 30}
FUNCTIONS = {"broadcast_add": 15, "conv2d": 25, "bmm_relu": 25, "transform": 20}

HABITS: dict[str, tuple[bytes, dict[str, float]]] = {
    "imports/packages_in_one_cell": (
        conv(IMPORTS, SHOWN, "from turtle import *", ON_A_CARD, EMIT_TE),
        EMIT,
    ),
    "entries/suffixes_and_parameters": (
        conv(
            PRELUDE,
            "batch_size, input_shape, weight_map = 1, (1, 1, 28, 28), weights",
            BATCH_OF_ONE.replace("emit_te()", "emit_te2(batch_size, input_shape, weight_map)"),
            EXTERN.replace("with_torch_func()", "with_torch_func_4(weight_map)"),
        ),
        BOTH,
    ),
    "entries/fewer_words": (
        conv(
            PRELUDE,
            EMIT_TE.replace("create_model_via_emit_te", "create_model"),
            "mod = create_model()",
            EXTERN.replace("with_torch_func", "extern"),
        ),
        BOTH,
    ),
    "entries/out_of_order": (conv(EMIT_TE, "create_model_via_emit_te()", PRELUDE, EXTERN), BOTH),
    "entries/modules": (
        tensorir(MyAdd="MyBAdd", MyConv="MyConv2d", MyBmmRelu="MyBmmRule", sch="my_schedule"),
        FUNCTIONS,
    ),
    "entries/coroutines": (
        conv(
            PRELUDE, *(each.replace("def create", "async def create") for each in (EMIT_TE, EXTERN))
        ),
        BOTH,
    ),
    "externs/compiled_locked_and_logged": (conv(PRELUDE, EMIT_TE, HOLDING), BOTH),
    "imports/of_other_places": (
        conv(
            "import tensorflow\nfrom google.colab import drive\n"
            f"from tqdm.notebook import tqdm\n{PRELUDE}",
            "drive.mount('/content/drive')\n%cd /content/drive/MyDrive/homework",
            EMIT_TE,
            EXTERN,
        ),
        BOTH,
    ),
    "data/in_other_folders": (
        conv(
            PRELUDE.replace('open("', 'open("../data/'),
            "folder = '/home/course/parameters'\n"
            "with open(f'{folder}/fasionmnist_mlp_assignment_params.pkl', 'rb') as file:\n"
            "    weights = pickle.load(file)",
            "import torchvision\n"
            "images = torchvision.datasets.FashionMNIST('../data', train=False, download=True)\n"
            "assert not len(images) % 4",
            EMIT_TE,
            EXTERN,
        ),
        BOTH,
    ),
    "outputs/long": (
        conv(
            f"{PRELUDE}\nprint('x' * 10_000_000)", *["print('x' * 7_000_000)"] * 5, EMIT_TE, EXTERN
        ),
        BOTH,
    ),
    "files/script.py": (SCRIPT.encode(), BOTH),
    "files/program.py": (PROGRAM.encode("latin-1"), BOTH),
    "files/answers.md": (fenced(*in_dialect([PRELUDE, EMIT_TE, EXTERN], "2022")), BOTH),
}
"""Submissions, and the points of their parts."""

PROBLEMS = {
    # No graphics card; and there may be no Tk.
    "imports/packages_in_one_cell": {"AssertionError", "ModuleNotFoundError"},
    "entries/out_of_order": {"NameError"},
    "imports/of_other_places": {"ModuleNotFoundError"},
    "files/script.py": {"AssertionError"},
}
"""Errors that cells may end in."""


def untimed_submissions(_selected: Sequence[pytest.Function]) -> dict[str, bytes]:
    return {name: content for name, (content, _) in HABITS.items()}


@pytest.mark.graded
@pytest.mark.parametrize("habit", HABITS)
def test_a_habit_costs_nothing(together: GradedBatch, habit: str) -> None:
    report = together.reports[habit]
    points = HABITS[habit][1]
    assert points == {part.id: part.score for part in report.parts if part.id in points}
    assert {problem.error for problem in report.problems} <= PROBLEMS.get(habit, set())


@pytest.mark.graded
def test_errors_of_a_script_are_on_lines_of_the_file(together: GradedBatch) -> None:
    report = together.reports["files/script.py"]
    lines = SCRIPT.split("\n")
    assert ["AssertionError"] == [problem.error for problem in report.problems]
    (line,) = [problem.line for problem in report.problems if problem.line is not None]
    assert lines[line - 1].startswith("assert create_model")
    assert report.submission.cells == len(report.submission.starts)


@pytest.mark.graded
def test_markdown_of_2022_says_so(together: GradedBatch) -> None:
    assert "2022" == together.reports["files/answers.md"].dialect
