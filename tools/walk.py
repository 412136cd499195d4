"""Follow one value through the code, and count how often its reader comes back to a room.

    .venv/bin/python tools/walk.py grader.cli.run:run_submission:options [--steps]

A step is a call that is given the value, an attribute of it, or a value object that was made of it.
A step into the module that the walk is in stays; one into a module that the walk has left before
returns; each such function and parameter is followed once. What hands itself on by a method is not
seen: a method of the value is where it ends.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SAYING = "grader.language"
"""To say a value in a sentence is not to hand it on."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Place(NamedTuple):
    """A function or class of a module."""

    module: str
    name: str


class Package:
    """All modules, and what their names stand for."""

    def __init__(self, root: Path) -> None:
        self.trees = {
            _dotted(path, root): _parsed(path) for path in (root / "grader").rglob("*.py")
        }
        self.known = {
            Place(module, name): node
            for module, tree in self.trees.items()
            for name, node in _definitions(tree)
        }

    def find(self, module: str, name: str) -> Place | None:
        """Return where a name of a module is defined, also where it is imported on."""
        place = Place(module, name)
        if place in self.known:
            return place
        for node in ast.walk(self.trees.get(module, ast.Module([], []))):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    if (alias.asname or alias.name) == name and node.module in self.trees:
                        return self.find(node.module, alias.name)
        return None


def _dotted(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, Function):
                    yield f"{node.name}.{each.name}", each


class Walk:
    """The steps of one value, in the order of the text."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.steps: list[tuple[str, Place]] = []
        self._left: set[str] = set()
        self._followed: set[tuple[Place, str]] = set()

    def follow(self, place: Place, parameter: str) -> None:
        """Follow a parameter of a function."""
        if (place, parameter) in self._followed:
            return
        self._followed.add((place, parameter))
        node = self.package.known[place]
        tracked = {parameter}
        for call, target in _calls(node):
            given = [each for each in _arguments(call) if _is_of(each[1], tracked)]
            if target and given and _is_replaced(call):
                tracked |= {target}
            callee = self._callee(place, call) if given else None
            if callee is None or callee.module == SAYING:
                continue
            self._step(place.module, callee)
            made = self.package.known[callee]
            if target and (isinstance(made, ast.ClassDef) or _returns_a_value(made)):
                tracked |= {target}
            if isinstance(made, ast.ClassDef):
                continue
            for position, _ in given:
                name = _parameter(self.package.known[callee], position)
                if name is not None:
                    self.follow(callee, name)
            self._left.add(callee.module)

    def _step(self, module: str, callee: Place) -> None:
        kind = "stays" if callee.module == module else "goes"
        if kind == "goes":
            kind = "returns" if callee.module in self._left else "goes"
            self._left.add(module)
        self.steps.append((kind, callee))

    def _callee(self, place: Place, call: ast.Call) -> Place | None:
        name = call.func
        if isinstance(name, ast.Name):
            return self.package.find(place.module, name.id)
        if not (isinstance(name, ast.Attribute) and ast.unparse(name.value) == "self"):
            return None
        own = Place(place.module, f"{place.name.split('.')[0]}.{name.attr}")
        return own if own in self.package.known else None


def _calls(node: ast.AST) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls in a function, each with the variable that takes its result."""
    taken = dict(_taken(node))
    found = [each for each in ast.walk(node) if isinstance(each, ast.Call)]
    for each in sorted(found, key=lambda call: (call.lineno, call.col_offset)):
        yield each, taken.get(id(each), "")


def _taken(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield which calls' results get which name: `x = f()`, and `with f() as x`."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name):
            yield id(each.value), each.targets[0].id
        if isinstance(each, ast.With):
            for item in each.items:
                if isinstance(item.optional_vars, ast.Name):
                    yield id(item.context_expr), item.optional_vars.id


def _arguments(call: ast.Call) -> Iterator[tuple[int | str, ast.expr]]:
    yield from enumerate(call.args)
    yield from ((each.arg or "", each.value) for each in call.keywords)


def _is_of(expression: ast.expr, tracked: set[str]) -> bool:
    """Say whether an argument is a tracked value, or an attribute of one."""
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return isinstance(expression, ast.Name) and expression.id in tracked


def _is_replaced(call: ast.Call) -> bool:
    """Say whether a call makes a value object of another one, with other fields."""
    return ast.unparse(call.func).split(".")[-1] == "replace"


def _returns_a_value(node: ast.stmt) -> bool:
    """Say whether a function returns an object of a class, which may hold what it was given."""
    told = ast.unparse(node.returns) if isinstance(node, Function) and node.returns else ""
    names = re.findall(r"\b[A-Za-z_]\w*", told)
    return any(
        name[0].isupper() for name in names if name not in ("None", "Iterator", "Path", "Text")
    )


def _parameter(node: ast.stmt, position: int | str) -> str | None:
    assert isinstance(node, Function)
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    names = names[1:] if names[:1] == ["self"] else names
    if isinstance(position, str):
        return (
            position if position in {*names, *(each.arg for each in node.args.kwonlyargs)} else None
        )
    return names[position] if position < len(names) else None


def main() -> None:
    """Print how often the walk stays, goes on and returns."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("start", help="module:function:parameter")
    parser.add_argument("--steps", action="store_true", help="name every step")
    options = parser.parse_args()
    module, name, parameter = options.start.split(":")
    walk = Walk(Package(ROOT))
    walk.follow(Place(module, name), parameter)
    for kind, place in walk.steps if options.steps else ():
        print(f"{kind:8}{place.module}:{place.name}")
    counts = {
        kind: sum(each == kind for each, _ in walk.steps) for kind in ("stays", "goes", "returns")
    }
    print(", ".join(f"{kind} {count}" for kind, count in counts.items()))


if __name__ == "__main__":
    main()
