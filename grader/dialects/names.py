"""Which names of a notebook stand for what of TVM, and which of them are nowhere."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from grader.decoding import prepared
from grader.dialects.table import DialectRow, gone, of_kind
from grader.language import say

CUSTOMARY = {
    "tvm": "tvm",
    "relax": "tvm.relax",
    "topi": "tvm.topi",
    "te": "tvm.te",
    "tir": "tvm.tir",
    "T": "tvm.script.tir",
    "R": "tvm.script.relax",
    "I": "tvm.script.ir",
}
"""What names mean that a notebook uses and binds nowhere: a text's first cells may be elsewhere."""

_SCRIPT_TODAY, _SCRIPT_THEN = "tvm.script.tirx", "tvm.script.tir"


class ImportedNames:
    """The names of a notebook's imports, in all its cells together.

    Cells may run in any order, so an import in one counts for all. `assigned` are names that cells
    bind to anything else at top level, `defined` all functions and methods, `types` all names that
    are bound to a DynTensorType, and `processors` those that are bound to targets of `llvm` alone.
    """

    def __init__(self, modules: Iterable[ast.Module]) -> None:
        self.imported: dict[str, str] = {}
        self.assigned: set[str] = set()
        self.defined: set[str] = set()
        self.types: set[str] = set()
        self._bound: Counter[str] = Counter()
        self._targets: Counter[str] = Counter()
        for module in modules:
            for node in ast.walk(module):
                self._import(node)
                self._define(node)
                self._count(node)
            for statement in module.body:
                self.assigned.update(_bound(statement))
        self.processors = {
            name for name, count in self._targets.items() if count == self._bound[name]
        }
        free = CUSTOMARY.keys() - self.imported.keys() - self.assigned
        self.known = {name: CUSTOMARY[name] for name in free}
        self.known.update(
            (name, target)
            for name, target in self.imported.items()
            if target == "tvm" or target.startswith("tvm.")
        )
        self._today = {name: today(target) for name, target in self.known.items()}
        self._reaching: dict[str, str] = {}
        for name in sorted(self._today.keys() - self.assigned):
            self._reaching.setdefault(self._today[name], name)

    def _import(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                self.imported[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                self.imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def _define(self, node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.defined.add(node.name)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            function = node.value.func
            last = getattr(function, "attr", None) or getattr(function, "id", None)
            if last == "DynTensorType":
                self.types.update(each.id for each in node.targets if isinstance(each, ast.Name))

    def _count(self, node: ast.AST) -> None:
        """Count how often each name is bound, and how often to a text that is a target."""
        if isinstance(node, ast.arg):
            self._bound[node.arg] += 1
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            self._bound[node.id] += 1
        elif isinstance(node, ast.Assign) and is_processor(getattr(node.value, "value", None)):
            self._targets.update(each.id for each in node.targets if isinstance(each, ast.Name))

    def target(self, name: str) -> str | None:
        """Return what of TVM a name stands for, as the notebook's own imports spell it."""
        return self.known.get(name)

    def full(self, dotted: str) -> str | None:
        """Return a dotted name of the notebook from `tvm` on, with the modules of old."""
        root, dot, rest = dotted.partition(".")
        target = self.target(root)
        return None if target is None else as_of_old(target + dot + rest)

    def spell(self, full: str, near: str = "") -> str | None:
        """Return how a cell can say a name of TVM, with the same beginning as `near` if it fits.

        None when no import of the notebook reaches it. Names that are bound to something else
        somewhere are not used.
        """
        begin = near.split(".")[0]
        target = self._today.get(begin)
        if target is not None and full.startswith(f"{target}."):
            return begin + full[len(target) :]
        parts = full.split(".")
        for length in range(len(parts) - 1, 0, -1):
            name = self._reaching.get(".".join(parts[:length]))
            if name is not None:
                return ".".join([name, *parts[length:]])
        return None


def is_processor(target: object) -> bool:
    """Say whether a value is a target for the processor: `llvm`, with or without options."""
    return isinstance(target, str) and target.split(" ")[0] == "llvm"


def as_of_old(full: str) -> str:
    """Spell today's module of TVMScript as the table does, which knows it by its old name."""
    if full == _SCRIPT_TODAY or full.startswith(f"{_SCRIPT_TODAY}."):
        return _SCRIPT_THEN + full[len(_SCRIPT_TODAY) :]
    return full


def renamed(full: str) -> tuple[str, DialectRow] | None:
    """Return today's spelling of a name from `tvm` on, and the row that says so."""
    table = of_kind("name")
    whole = as_of_old(full)
    parts = whole.split(".")
    for length in range(len(parts), 1, -1):
        row = table.get(".".join(parts[:length]))
        if row is not None:
            return ".".join([row.becomes, *parts[length:]]), row
    return None


def today(full: str) -> str:
    """Return a name's spelling of today, which may be the one it has."""
    found = renamed(full)
    return full if found is None else found[0]


def _bound(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return set()
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


# Names of TVM that a notebook uses and that are nowhere: neither in the table nor in today's TVM.
#
# `names.json`, made by `tools/make_tvm_names.py`, says what today's TVM has, so that it need not be
# imported. Nothing is said of what is not certain: of attributes of classes and values, and of
# modules that were not looked into.


WHY = say("neither-todays-tvm-nor-migration-table-has")

_Scope = frozenset[str]


@cache
def _modules() -> dict[str, frozenset[str] | None]:
    content = Path(__file__).with_name("names.json").read_bytes()
    return msgspec.json.decode(content, type=prepared(dict[str, frozenset[str] | None]))


def is_unknown(full: str) -> bool:
    """Say whether a dotted name from `tvm` on is surely in no module of today's TVM."""
    modules = _modules()
    parts = full.split(".")
    for length in range(1, len(parts)):
        if ".".join(parts[: length + 1]) not in modules:
            names = modules.get(".".join(parts[:length]))
            private = parts[length].startswith("_")
            return names is not None and not private and parts[length] not in names
    return False


def unknown_names(module: ast.Module, names: ImportedNames) -> list[tuple[int, str]]:
    """Return the unknown names of a cell as it is written: line and name, each name once."""
    found: dict[str, int] = {}
    for line, written, full in sorted(_uses(module, names, frozenset(names.assigned))):
        spelt = today(full)
        if gone(full) is None and is_unknown(spelt):
            found.setdefault(written, line)
    return [(line, written) for written, line in found.items()]


def _uses(node: ast.AST, names: ImportedNames, hidden: _Scope) -> Iterator[tuple[int, str, str]]:
    """Yield the dotted names of TVM below a node: line, as written, and from `tvm` on.

    `hidden` are names that mean something else here.
    """
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for written in filter(_is_tvm, _imported(node)):
            yield node.lineno, written, as_of_old(written)
        return
    if isinstance(node, ast.Attribute):
        written = _dotted(node)
        if written:
            full = None if written.split(".")[0] in hidden else names.full(written)
            if full is not None and isinstance(node.ctx, ast.Load):
                yield node.lineno, written, full
            return
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        hidden |= _own(node)
    for child in ast.iter_child_nodes(node):
        yield from _uses(child, names, hidden)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    names = [alias.name for alias in node.names if alias.name != "*"]
    if isinstance(node, ast.Import):
        return names
    return [] if node.level else [f"{node.module}.{name}" for name in names]


def _is_tvm(name: str) -> bool:
    return name == "tvm" or name.startswith("tvm.")


def _dotted(node: ast.expr) -> str:
    """Return a dotted name, empty for what is none."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _own(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> _Scope:
    """Return the names that a function binds: its parameters, and what it assigns."""
    nodes = list(ast.walk(function))
    parameters = {each.arg for each in nodes if isinstance(each, ast.arg)}
    stored = {
        each.id
        for each in nodes
        if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)
    }
    return frozenset(parameters | stored)
