"""Documents to be damaged: a saved module as plain data, with the edits that tests need."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from grader.errors import IRError
from grader.ir.read import read_module


class Document:
    """A saved module as nodes that may be edited."""

    def __init__(self, document: bytes) -> None:
        self.data: dict[str, Any] = json.loads(document)
        self.nodes: list[dict[str, Any]] = self.data["nodes"]

    def encode(self) -> bytes:
        return json.dumps(self.data, separators=(",", ":")).encode()

    def indices(self, kind: str) -> Iterator[int]:
        return (i for i, node in enumerate(self.nodes) if node["type"] == kind)

    def first(self, kind: str) -> Any:
        """Return the data of the first node of a type."""
        return self.nodes[next(self.indices(kind))]["data"]

    def last(self, kind: str) -> Any:
        """Return the data of the last node of a type."""
        return self.nodes[list(self.indices(kind))[-1]]["data"]

    def target(self, index: int) -> dict[str, Any]:
        return self.nodes[index]

    def set_text(self, old: str, new: Any) -> None:
        """Give a string node another text."""
        for node in self.nodes:
            if node["type"] == "ffi.String" and node["data"] == old:
                node["data"] = new
                return
        raise AssertionError(old)

    def insert(self, at: int, nodes: list[dict[str, Any]]) -> int:
        """Insert nodes before `at`, moving every reference; return the index of the first."""
        count = len(nodes)

        def move(value: Any) -> Any:
            return value + count if type(value) is int and value >= at else value

        for node in self.nodes:
            data = node.get("data")
            if node["type"] in ("ffi.Array", "ffi.Map"):
                node["data"] = [move(item) for item in data]
            elif isinstance(data, dict):
                node["data"] = {
                    key: value if key in INLINE else move(value) for key, value in data.items()
                }
        self.nodes[at:at] = nodes
        self.data["root_index"] = move(self.data["root_index"])
        return at


INLINE = {
    "kind", "iter_type", "ndim", "data_alignment", "offset_factor", "purity", "is_pure",
    "index", "line", "column", "end_line", "end_column",
}  # fmt: skip
"""Fields whose numbers are not references (of the types that the edited modules contain)."""


def tensor(array: Any, *, magic: int = 0xDD5E40F096B4A13F, size: int | None = None) -> bytes:
    """Return an array in TVM's binary format, by hand: the tests' own reading of the format."""
    kinds = {"i": 0, "u": 1, "f": 2}
    data = array.tobytes()
    parts = [
        magic.to_bytes(8, "little"),
        bytes(8),
        (1).to_bytes(4, "little"),
        bytes(4),
        array.ndim.to_bytes(4, "little"),
        bytes([kinds[array.dtype.kind], array.dtype.itemsize * 8, 1, 0]),
        *(extent.to_bytes(8, "little") for extent in array.shape),
        (len(data) if size is None else size).to_bytes(8, "little"),
        data,
    ]
    return base64.b64encode(b"".join(parts))


def refusal(document: bytes, edit: Callable[[Document], Any]) -> IRError:
    """Return the error that a module gives after an edit. The module itself must be good."""
    read_module(document)
    damaged = Document(document)
    edit(damaged)
    with pytest.raises(IRError) as caught:
        read_module(damaged.encode())
    assert caught.value.message.english.endswith(".")
    assert caught.value.hint
    assert len(caught.value.message.english) < 250
    return caught.value
