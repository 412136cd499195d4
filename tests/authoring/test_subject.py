"""Where cells stand in a master's file, and which names they bind."""

from __future__ import annotations

import nbformat
import pytest

from grader.authoring.master import read_master
from grader.authoring.subject import bound_names, locate_cells
from tests.authoring.masters import TRANSLATED

PYTHON = """\
# ---
# jupyter:
#   language: python
# ---

# %% [markdown]
# # Title
#
# print

# %%
# !echo magic
x = 1

# %%

# %% [raw]
# raw

# %%
x = 1
"""
MARKDOWN = (
    "# Title\n\nx = 1\n\n```python\nx = 1\n```\n\n<!-- #region -->\nlast\n<!-- #endregion -->"
)


@pytest.mark.parametrize(
    ("text", "ending", "expected"),
    [(PYTHON, ".py", (7, 12, 14, 18, 21)), (MARKDOWN, ".md", (1, 6, 10))],
)
def test_a_cell_is_found_on_its_line(tmp_path, text, ending, expected):
    path = tmp_path / f"task{ending}"
    path.write_text(text)
    assert expected == locate_cells(path, read_master(path))


def test_a_notebook_has_no_lines(tmp_path):
    source, path = tmp_path / "task.py", tmp_path / "task.ipynb"
    source.write_text(TRANSLATED, encoding="utf-8")
    master = read_master(source)
    path.write_text(nbformat.writes(master), encoding="utf-8")
    assert (None,) * 5 == locate_cells(path, master)


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def f(a):\n    b = 1", {"f"}),
        ("@decorated\nclass MyModule:\n    field = 1", {"MyModule"}),
        ("a, (b, *c) = x\nd += 1\ne: int = 3", {"a", "b", "c", "d", "e"}),
        ("with x as f:\n    if y:\n        g = 1", {"f", "g"}),
        ("import os.path, numpy as np\nfrom a import b", {"os.path", "np", "b"}),
        ("!ls\n%time x = 1\ny = 2", {"y"}),
        ("def broken(:\nz = 1", {"z", "broken"}),
    ],
)
def test_a_cell_binds_what_stands_outside_of_functions_and_classes(code, names):
    assert names == bound_names(code)
