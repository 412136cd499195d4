"""`grader new`: the files of an assignment that is complete, small, and made to be changed.

`{slug}` and `{title}` are filled in. The assignment is complete: it passes `grader verify`.
"""

from __future__ import annotations

import re
from pathlib import Path

from grader.authoring.template import build_templates, write_files
from grader.course import load_course
from grader.errors import UsageError
from grader.language import say

ASSIGNMENT = """\
# Every number that decides about points is in this file; docs/assignment.md explains each key.

slug = "{slug}"
title = "{title}"
version = 1                 # raise it when points or checks change
points = 10

[data]
dataset = "none"            # no images: submissions are compared on inputs drawn for each run

# What is computed. oracle.py has a function of this name.
[[computation]]
id = "linear"
cases = 64                  # inputs that are drawn
rtol = 1e-4
atol = 1e-5

[[computation.arguments]]
name = "x"
shape = [4, 8]

[[computation.arguments]]
name = "weight"
shape = [6, 8]

[[computation.arguments]]
name = "bias"
shape = [6]

[[computation.outputs]]
shape = [4, 6]

[limits]
cell_seconds = 60
notebook_seconds = 120
task_seconds = 60

[[part]]
id = "kernel"
title = "The layer as a TensorIR function"
entry_kind = "module"
entry = ["linear"]
computation = "linear"

[[part.check]]
id = "equivalence"
kind = "equivalence"
points = 5

[[part]]
id = "graph"
title = "The layer as a graph of calls"
entry_kind = "function"
entry = ["create_model"]
computation = "linear"

[[part.check]]
id = "structure"
kind = "call_tir_graph"
points = 1
required = true             # a right TensorIR function alone, such as that of part 1, is no graph
options = {{ weights = [] }}

[[part.check]]
id = "equivalence"
kind = "equivalence"
points = 4
"""

ORACLE = '''\
"""What is right in assignment {slug}. Only the referee imports this file."""

import numpy as np


def linear(parameters, x, weight, bias):
    """Return x @ weight.T + bias in double precision.

    Every argument has a leading axis over the cases: x is (n, 4, 8), weight (n, 6, 8), bias (n, 6),
    the result (n, 4, 6). `parameters` are those of a data set; here there are none.
    """
    x, weight, bias = (np.asarray(each, "float64") for each in (x, weight, bias))
    return x @ weight.transpose(0, 2, 1) + bias[:, None, :]
'''

MUTANTS = '''\
# Mistakes that students make. `grader verify {slug}` puts each into the solved notebook, where
# `find` must be once, and complains if it costs no points.

[[mutant]]
id = "sum_not_initialised"
about = "The sum starts from whatever is in memory."
part = "kernel"
find = """
            with T.init():
                y[v_i, v_j] = bias[v_j]"""
replace = ""
expect = "equivalence"

[[mutant]]
id = "bias_forgotten"
about = "The bias is not added."
part = "graph"
find = "output = bb.emit_output(bb.emit_te(topi.nn.dense, x, weight, bias))"
replace = "output = bb.emit_output(bb.emit_te(topi.nn.dense, x, weight))"
expect = "equivalence"
'''

MASTER = """\
# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown] tags=["instructor"]
# **For instructors.** This file is the master notebook of assignment {slug}. What stands between
# solution marks, and cells like this one, are not in the students' notebooks: make these with
# `grader template {slug}`.

# %% [markdown]
# # {title}
#
# A linear layer multiplies a matrix by a weight and adds a bias. You write it twice.

# %% [markdown] lang="zh"
# # {title}
#
# 线性层把一个矩阵乘以权重，再加上偏置。你要把它写两遍。

# %% [markdown] lang="ko"
# # {title}
#
# 선형 계층은 행렬에 가중치를 곱하고 편향을 더합니다. 이 계층을 두 번 작성합니다.

# %%
import numpy as np
import tvm
from tvm import relax, topi
from tvm.script import relax as R
from tvm.script import tirx as T

# %% [markdown]
# ## 1. A TensorIR function
#
# Write `linear`: its parameters are `x` of 4 by 8, `weight` of 6 by 8, `bias` of 6, and the output
# `y` of 4 by 6.

# %% [markdown] lang="zh"
# ## 1. TensorIR 函数
#
# 编写 `linear`：它的参数是 4 乘 8 的 `x`、6 乘 8 的 `weight`、长度为 6 的 `bias`，
# 以及 4 乘 6 的输出 `y`。

# %% [markdown] lang="ko"
# ## 1. TensorIR 함수
#
# `linear`를 작성하세요. 매개변수는 4×8 크기의 `x`, 6×8 크기의 `weight`, 길이 6의 `bias`,
# 그리고 4×6 크기의 출력 `y`입니다.


# %%
# Define `linear` here, decorated by @T.prim_func(s_tir=True).
### BEGIN SOLUTION
@T.prim_func(s_tir=True)
def linear(
    x: T.Buffer((4, 8), "float32"),
    weight: T.Buffer((6, 8), "float32"),
    bias: T.Buffer((6,), "float32"),
    y: T.Buffer((4, 6), "float32"),
):
    for i, j, k in T.grid(4, 6, 8):
        with T.sblock("linear"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            with T.init():
                y[v_i, v_j] = bias[v_j]
            y[v_i, v_j] = y[v_i, v_j] + x[v_i, v_k] * weight[v_j, v_k]
### END SOLUTION

# %%
linear.show()

# %% [markdown]
# ## 2. A graph
#
# Build a module whose `main` takes `x`, `weight` and `bias`, out of calls of TensorIR functions.

# %% [markdown] lang="zh"
# ## 2. 计算图
#
# 构建一个模块：它的 `main` 接收 `x`、`weight` 和 `bias`，由对 TensorIR 函数的调用组成。

# %% [markdown] lang="ko"
# ## 2. 계산 그래프
#
# `main`이 `x`, `weight`, `bias`를 받는 모듈을 TensorIR 함수 호출로 만드세요.


# %%
def create_model():
    bb = relax.BlockBuilder()
    x = relax.Var("x", R.Tensor((4, 8), "float32"))
    weight = relax.Var("weight", R.Tensor((6, 8), "float32"))
    bias = relax.Var("bias", R.Tensor((6,), "float32"))
    with bb.function("main", [x, weight, bias]):
        with bb.dataflow():
            # Compute the layer, and leave it in `output` by bb.emit_output.
            ### BEGIN SOLUTION
            output = bb.emit_output(bb.emit_te(topi.nn.dense, x, weight, bias))
            ### END SOLUTION
        bb.emit_func_output(output)
    return bb.get()


# %%
create_model().show()
"""


SLUG = re.compile(r"[a-z][a-z0-9_-]*\Z")


def make_assignment(root: Path, slug: str) -> list[Path]:
    """Write a new assignment into a course's folder, which may be empty; return the files.

    Raises UsageError for a name that cannot be one, and when a file is there already: then
    nothing is written.
    """
    if not SLUG.match(slug):
        raise UsageError(
            say("{slug} cannot be the name of an assignment.", slug=repr(slug)),
            say("Use small letters, digits, - and _, and begin with a letter."),
        )
    files = {root / path: text.encode() for path, text in _files(slug).items()}
    taken = [path for path in (*files, *(root / "templates").glob(f"{slug}.*")) if path.exists()]
    if taken:
        raise UsageError(
            say("{path} is there already.", path=str(taken[0])),
            say("Choose another name, or move it away first."),
        )
    write_files(files)
    made = build_templates(root, load_course(root).get(slug))
    templates = {root / "templates" / name: content for name, content in made.items()}
    write_files(templates)
    return [*files, *templates]


def _files(slug: str) -> dict[str, str]:
    title = slug.replace("-", " ").replace("_", " ").capitalize()
    texts = {
        f"assignments/{slug}/assignment.toml": ASSIGNMENT,
        f"assignments/{slug}/oracle.py": ORACLE,
        f"assignments/{slug}/mutants.toml": MUTANTS,
        f"reference/{slug}.py": MASTER,
    }
    return {path: text.format(slug=slug, title=title) for path, text in texts.items()}
