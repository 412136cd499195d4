"""Small master notebooks, and the assignment that they belong to."""

from __future__ import annotations

from pathlib import Path

import msgspec

from grader.assignment import Assignment

ASSIGNMENT_TOML = """\
slug = "task"
title = "A task"
version = 3
points = 10

[[computation]]
id = "double"
arguments = [{ shape = [4] }]
outputs = [{ shape = [4] }]

[[part]]
id = "answer"
title = "The answer"
entry_kind = "function"
entry = ["answer", "answer_*"]
computation = "double"

[[part.check]]
id = "equivalence"
kind = "equivalence"
points = 10
"""

ASSIGNMENT = msgspec.toml.decode(ASSIGNMENT_TOML.encode(), type=Assignment)

ORACLE = """\
import torch


def double(parameters, x):
    return (2 * torch.tensor(x, dtype=torch.float64)).numpy()
"""

TRANSLATED = """\
# %% [markdown]
# # A task
#
# Define `answer`, see [the manual](https://example.org/manual).

# %% [markdown] lang="zh"
# # 一道题
#
# 请定义 `answer`，参见[手册](https://example.org/manual)。

# %% [markdown] lang="ko"
# # 과제
#
# `answer`를 정의하세요. [설명서](https://example.org/manual)를 보세요.

# %% [markdown] tags=["instructor"]
# Only for instructors.

# %%
def answer():
    # Return twice the input,
    # item by item.
    # zh: 返回输入的两倍。
    # ko: 입력의 두 배를
    # ko: 반환하세요.
    ### BEGIN SOLUTION
    return 42
    ### END SOLUTION
"""
"""A master without a fault."""


def write_course(folder: Path, master: str = TRANSLATED, ending: str = ".py") -> Path:
    """Write a course of one assignment, called task, with its master; return the folder."""
    table = folder / "assignments" / "task" / "assignment.toml"
    table.parent.mkdir(parents=True)
    table.write_text(ASSIGNMENT_TOML, encoding="utf-8")
    table.with_name("oracle.py").write_text(ORACLE, encoding="utf-8")
    path = folder / "reference" / f"task{ending}"
    path.parent.mkdir()
    path.write_text(master, encoding="utf-8")
    return folder
