"""Example submissions of e2e-conv as people hand them in: right, with a habit of their own."""

from __future__ import annotations

from snippets_e2e_conv import (
    REGISTER_CONV,
    SETUP,
    emit_te,
    torch_func,
)

# --- entry points that ask for what the grader has to know ----------------------------------------

NOTHING_BOUND = SETUP[: SETUP.index("with open")] + SETUP[SETUP.index("def const") :].replace(
    "weight_map", "weights"
).replace("const(name", "const(weights, name")

SCHEDULED = """\
def sch(module):
    schedule = tvm.s_tir.Schedule(module)
    block = schedule.get_sblock("conv2d_nchw", func_name="conv2d")
    schedule.compute_inline(schedule.get_sblock("pad_temp", func_name="conv2d"))
    n, ff, yy, xx, rc, ry, rx = schedule.get_loops(block)
    ff0, ff1 = schedule.split(ff, factors=[None, 8])
    xx0, xx1 = schedule.split(xx, factors=[None, 13])
    schedule.reorder(n, ff0, yy, xx0, rc, ry, rx, ff1, xx1)
    schedule.parallel(n)
    schedule.vectorize(xx1)
    schedule.decompose_reduction(block, rc)
    return schedule
"""


def asking(function: str, parameters: str, name: str) -> str:
    """Return an entry point that asks for what it needs, in place of the notebook's values."""
    head, body = function.split(":\n", 1)
    assert head.startswith(f"def {name}(")
    body = body.replace("const(", "const(weights, ")
    return f"def {name}({parameters}):\n{body}"


ASKED = (
    NOTHING_BOUND,
    asking(emit_te(), "batch_size, weights", "create_model_via_emit_te"),
    REGISTER_CONV,
    asking(torch_func(), "weights, img", "create_model_with_torch_func").replace(
        "batch_size", "img.shape[0]"
    ),
    SCHEDULED,
)

UNKNOWN = (
    NOTHING_BOUND,
    asking(emit_te(), "batch_size, weights, hidden_width", "create_model_via_emit_te"),
)

# --- data and packages where they are elsewhere ---------------------------------------------------

ELSEWHERE = (
    SETUP.replace('open("', 'open("../data/'),
    """\
import os

import torchvision

folder = "/home/course/parameters"
with open(os.path.join(folder, "fasionmnist_mlp_assignment_params.pkl"), "rb") as file:
    again = pickle.load(file)
images = torchvision.datasets.FashionMNIST("../data", train=False, download=True)
assert again.keys() == weight_map.keys() and len(images) % batch_size == 0
""",
    emit_te(),
)

COLAB = (
    "from google.colab import drive\nfrom tqdm.notebook import tqdm\n" + SETUP,
    """\
drive.mount("/content/drive")
%cd /content/drive/MyDrive/homework
name = input("Your name: ")
print("." * 10_000_000)
""",
    "async " + emit_te(),
)

# --- cells that fail ------------------------------------------------------------------------------

IMPORTS_ELSEWHERE = (SETUP[SETUP.index("with open") :], emit_te())

HABITS = {
    "data_in_other_folders": ELSEWHERE,
    "habits_of_colab": COLAB,
    "imports_in_another_file": IMPORTS_ELSEWHERE,
    "entry_asks_for_what_is_known": ASKED,
    "entry_asks_for_what_nobody_knows": UNKNOWN,
}
