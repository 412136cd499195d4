"""Names of TVM that are nowhere are listed, with their cell, and nothing that is somewhere."""

from __future__ import annotations

import pytest

from grader.dialects.migration import migrate_cells
from grader.dialects.names import WHY, is_unknown
from grader.reading.documents import migrate_document
from tests.dialects.older import in_dialect, solved

IMPORTS = (
    "import tvm\nfrom tvm import relax, te, topi\nfrom tvm.script import tir as T, relax as R\n"
)


def unknown(*cells: str) -> list[tuple[int, int, str]]:
    """Return what is listed of cells after the imports: cell, line and name."""
    left = migrate_cells([IMPORTS, *cells], thorough=True).left
    return [(each.cell, each.line, each.what.english) for each in left if each.why == WHY]


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("y = topi.nn.max_pool2d(x)", "topi.nn.max_pool2d"),
        ("y = tvm.quantum.entangle(x)", "tvm.quantum.entangle"),
        ("from tvm.relax import Quark", "tvm.relax.Quark"),
        ("import tvm.quantum", "tvm.quantum"),
        ("def f(x):\n    return relax.op.nn.flop(x).ty", "relax.op.nn.flop"),
    ],
)
def test_a_name_that_nobody_knows_is_listed_with_its_cell(code: str, name: str) -> None:
    line = code.split("\n").index(next(each for each in code.split("\n") if name[-4:] in each))
    assert [(1, line + 1, name)] == unknown(code)


@pytest.mark.parametrize(
    "code",
    [
        "x = tvm.nd.array(y)",  # the table knows it
        "tvm.lower(f)",  # and says that it is gone
        "bb = relax.BlockBuilder.anything()",  # attributes of classes are not looked at
        "relax = 3\nrelax.quark",
        "def f(te):\n    return te.quark",
        "g = lambda topi: topi.quark",
        "tvm.own = 3",
        "import numpy as np\nnp.quark",
        "from tvm.exec import rpc_server",
        "%matplotlib inline\ntopi.nn.relu(x)",
    ],
)
def test_what_is_known_or_none_of_tvm_is_not_listed(code: str) -> None:
    assert [] == unknown(code)


def test_a_name_is_listed_once_in_a_cell() -> None:
    assert [(1, 1, "te.a"), (1, 2, "te.b"), (2, 1, "te.a")] == unknown(
        "te.a, te.a\nte.b, te.a", "te.a"
    )


@pytest.mark.parametrize("dialect", ["2022", "2023-24", "2025", "2026"])
@pytest.mark.parametrize("slug", ["e2e-conv", "e2e-mlp", "from-torch", "tensorir"])
def test_nothing_is_listed_of_the_solved_notebooks(slug: str, dialect: str) -> None:
    cells = solved(slug)
    written = cells if dialect == "2026" else in_dialect(cells, dialect)
    assert [] == [each for each in migrate_cells(written, thorough=True).left if each.why == WHY]


def test_a_grading_does_not_ask() -> None:
    assert () == migrate_cells(["import tvm\ntvm.quark"]).left
    document = migrate_document(b"import tvm\ntvm.quark\n", ".py")
    assert ["tvm.quark"] == [each.what.english for each in document.migration.left]


def test_a_module_is_no_unknown_name() -> None:
    assert not is_unknown("tvm.relax.transform")
    assert not is_unknown("tvm")
    assert is_unknown("tvm.relax.transformed")
