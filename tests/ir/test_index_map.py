"""Index maps in a trace are read strictly and written anew."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import tvm
import tvm_ffi

from grader.ir.index_map import NODE_LIMIT, rewrite_index_map


def saved(function: Callable[..., Any], axes: int) -> str:
    """An index map as TVM writes it."""
    names = [tvm.tirx.Var(f"i{axis}", "int32") for axis in range(axes)]
    text: str = tvm.ir.save_json(tvm.tirx.IndexMap(names, list(function(*names)), None))
    return text


FLAT = saved(lambda n, y, x: (n, 26 * y + x), 3)


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """The flat map with one thing changed in its graph."""
    graph = json.loads(FLAT)
    change(graph)
    return json.dumps(graph)


def node(graph: dict[str, Any], kind: str) -> dict[str, Any]:
    """The first node of a kind."""
    found: dict[str, Any] = next(each for each in graph["nodes"] if each["type"] == kind)
    return found


@pytest.mark.parametrize(
    "text",
    [
        FLAT,
        saved(lambda n, y, x: (x, y, n), 3),
        saved(lambda n, p: (n, p // 26, p % 26), 2),
        saved(lambda i: (i - 1, i + 1), 1),
    ],
    ids=["flat", "reordered", "divided", "moved"],
)
def test_what_is_written_anew_is_the_same_map(text: str) -> None:
    written = rewrite_index_map(text)
    assert written is not None
    assert tvm_ffi.structural_equal(tvm.ir.load_json(written), tvm.ir.load_json(text), True)


def test_what_tvm_adds_about_itself_is_left_out() -> None:
    assert "metadata" in json.loads(FLAT)
    assert {"root_index", "nodes"} == set(json.loads(rewrite_index_map(FLAT) or ""))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"root_index": 0, "nodes": []}',
        '{"root_index": 0, "nodes": [{"type": "None"}]}',
        "[" * 100_000,
        "\ud800",
        changed(lambda graph: graph.update(root_index=0)),
        changed(lambda graph: graph["nodes"].extend([{"type": "None"}] * NODE_LIMIT)),
        changed(lambda graph: node(graph, "tirx.IndexMap").update(type="ir.EnvFunc")),
        changed(lambda graph: node(graph, "ir.PrimType")["data"].update(dtype="handle")),
        changed(lambda graph: node(graph, "ffi.String").update(data='"')),
        changed(lambda graph: node(graph, "int").update(data=2**40)),
        changed(lambda graph: node(graph, "int").update(data=True)),
        changed(lambda graph: node(graph, "prim.Mul").update(type="tirx.Call")),
        changed(lambda graph: node(graph, "prim.Mul")["data"].update(a=10**6)),
        changed(lambda graph: node(graph, "prim.Mul")["data"].update(extra=0)),
        changed(lambda graph: node(graph, "ffi.Array").update(data=[0])),
        changed(lambda graph: node(graph, "ir.Var")["data"].pop("name")),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    assert rewrite_index_map(text) is None


def test_a_node_may_not_refer_to_itself_or_to_a_later_one() -> None:
    graph = json.loads(FLAT)
    for place, each in enumerate(graph["nodes"]):
        if each["type"] == "prim.Mul":
            each["data"]["a"] = place
    assert rewrite_index_map(json.dumps(graph)) is None
