"""Count what a newcomer stumbles over: rooms, short rooms with one door, names that stand twice.

    .venv/bin/python tools/house.py [REVISION ...] [--rooms]

One column for each revision of the repository and one for the working tree. `--rooms` names the
short modules that are imported exactly once: each is a hop that its only caller's reader pays.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SHORT = 60
"""Lines below which a module that is imported once belongs to its caller."""
LONG = 400
"""Lines that no module should have."""
PROSE = re.compile(r"[A-Z`][^\"']*\s\S+\s\S+[^\"']*[.:?]$")
"""A sentence: it begins with a capital letter or code, has three words, and ends like one."""


class Module(NamedTuple):
    """A module: its dotted name, its lines, and its tree."""

    name: str
    is_package: bool
    source: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """Return how many lines it has."""
        return self.source.count("\n")


def main() -> None:
    """Print the counts of revisions and of the working tree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("revisions", nargs="*", metavar="REVISION")
    parser.add_argument("--rooms", action="store_true", help="name the short rooms with one door")
    options = parser.parse_args()
    columns = {each: count(at_revision(each)) for each in options.revisions}
    here = working_tree()
    columns["now"] = count(here)
    for line in table(columns):
        print(line)
    if options.rooms:
        for name, importer in sorted(short_rooms(modules(here, "grader/"))):
            print(f"{name} <- {importer}")


def working_tree() -> dict[str, str]:
    """Return the text of the files that git knows, by name."""
    listed = subprocess.run(
        ["git", "ls-files", "grader", "tests"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    paths = [name for name in listed.stdout.splitlines() if name.endswith(".py")]
    return {
        name: (ROOT / name).read_text(encoding="utf-8") for name in paths if (ROOT / name).is_file()
    }


def at_revision(revision: str) -> dict[str, str]:
    """Return the text of the files of a revision, by name."""
    made = subprocess.run(
        ["git", "archive", revision, "grader", "tests"], cwd=ROOT, capture_output=True, check=True
    )
    found = {}
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        for member in archive:
            file = archive.extractfile(member) if member.name.endswith(".py") else None
            if file is not None:
                found[member.name] = file.read().decode()
    return found


def modules(files: Mapping[str, str], below: str) -> list[Module]:
    """Return the modules whose files lie below a folder."""
    found = []
    for name, source in files.items():
        if name.startswith(below):
            path = Path(name).with_suffix("")
            is_package = path.name == "__init__"
            dotted = ".".join(path.parent.parts if is_package else path.parts)
            found.append(Module(dotted, is_package, source, ast.parse(source)))
    return found


def count(files: Mapping[str, str]) -> dict[str, str]:
    """Return every count by what it is of."""
    every = modules(files, "grader/")
    lines = sum(each.lines for each in every)
    rooms = [each for each in every if not each.is_package]
    return {
        "packages": str(sum(each.is_package for each in every) - 1),
        "loose modules": str(sum(each.name.count(".") == 1 for each in rooms)),
        "modules": str(len(every)),
        "lines": f"{lines:,}",
        f"modules over {LONG} lines": str(sum(each.lines > LONG for each in rooms)),
        f"modules under {SHORT} lines": str(sum(each.lines < SHORT for each in rooms)),
        "modules imported once": str(len(imported_once(every))),
        f"under {SHORT} lines and imported once": str(len(short_rooms(every))),
        "docstrings of modules and imports, of lines": f"{_headers(every) / lines:.0%}",
        "comments, of lines": f"{_comments(every) / lines:.1%}",
        "modules that share their last name": str(_namesakes(rooms)),
        "classes that share their name": str(_shared_classes(every)),
        "functions over 40 lines": _long_functions(every),
        "names in `grader.__all__`": str(_public(every)),
        "assertions of English sentences": str(_prose(modules(files, "tests/"))),
    }


def table(columns: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    """Return a Markdown table, a column for each revision."""
    yield f"| | {' | '.join(columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for row in columns["now"]:
        yield f"| {row} | {' | '.join(each[row] for each in columns.values())} |"


def imported_once(every: Iterable[Module]) -> dict[str, str]:
    """Return the modules that one other module alone imports, each with that one."""
    every = list(every)
    known = {each.name for each in every}
    importers: dict[str, set[str]] = {each.name: set() for each in every if not each.is_package}
    for each in every:
        for name in _imports(each, known):
            if name in importers and name != each.name:
                importers[name].add(each.name)
    return {name: next(iter(found)) for name, found in importers.items() if len(found) == 1}


def short_rooms(every: Iterable[Module]) -> list[tuple[str, str]]:
    """Return the short modules that are imported once, each with its importer."""
    every = list(every)
    once = imported_once(every)
    return [
        (each.name, once[each.name]) for each in every if each.name in once and each.lines < SHORT
    ]


def _imports(module: Module, known: set[str]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (whole & known) or {node.module}
    return found & known


def _headers(every: Iterable[Module]) -> int:
    total = 0
    for each in every:
        for place, node in enumerate(each.tree.body):
            is_docstring = place == 0 and ast.get_docstring(each.tree) is not None
            if is_docstring or isinstance(node, ast.Import | ast.ImportFrom):
                total += (node.end_lineno or node.lineno) - node.lineno + 1
    return total


def _comments(every: Iterable[Module]) -> int:
    """Count the lines that are comments and nothing else."""
    total = 0
    for each in every:
        tokens = tokenize.generate_tokens(io.StringIO(each.source).readline)
        total += sum(
            token.type == tokenize.COMMENT and token.line.lstrip().startswith("#")
            for token in tokens
        )
    return total


def _namesakes(rooms: Iterable[Module]) -> int:
    names = Counter(each.name.rpartition(".")[2] for each in rooms)
    return sum(number for number in names.values() if number > 1)


def _shared_classes(every: Iterable[Module]) -> int:
    names = Counter(
        node.name
        for each in every
        for node in each.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return sum(number for number in names.values() if number > 1)


def _long_functions(every: Iterable[Module]) -> str:
    lengths = [
        (node.end_lineno or node.lineno) - node.lineno + 1
        for each in every
        for node in ast.walk(each.tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    long = sum(length > 40 for length in lengths)
    return f"{long} of {len(lengths):,}"


def _public(every: Iterable[Module]) -> int:
    face = next((each for each in every if each.name == "grader"), None)
    for node in face.tree.body if face is not None else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return len(ast.literal_eval(node.value))
    return 0


def _prose(tests: Iterable[Module]) -> int:
    """Count the assertions in which a sentence in English stands."""
    return sum(
        any(
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and PROSE.match(part.value)
            for part in ast.walk(node.test)
        )
        for each in tests
        for node in ast.walk(each.tree)
        if isinstance(node, ast.Assert)
    )


if __name__ == "__main__":
    main()
