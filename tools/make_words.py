"""Bring the message files up to date with the code: grader/words/en.json, zh.json and ko.json.

    python tools/make_words.py            remove what nothing says, list what has no words yet
    python tools/make_words.py --check    write nothing; exit 1 and name what is stale

Sentences are written in en.json by hand, beside the id that the code says. Titles of checks are the
first sentences of their docstrings. Untranslated sentences are "" there, and appear in English.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Iterator
from pathlib import Path

from grader.checks import kinds as checks
from grader.checks.registry import heading, registered_kinds, title_id
from grader.language import ENGLISH, LANGUAGES, WORDS

ROOT = Path(__file__).resolve().parent.parent
SHOWING = ("selfcheck", "render")
"""Folders whose `tell` takes ids as well."""

PROVING = ("doubt", "refuse")
"""What takes an id as the code of a reason against a function, in grader/ir."""

assert checks.__all__  # importing the package registers the checks


def said() -> Iterator[str]:
    """Yield every id that the code says."""
    for path in sorted((ROOT / "grader").rglob("*.py")):
        room = path.relative_to(ROOT / "grader").parts[0]
        names = {"say"} | ({"tell"} if room in SHOWING else set())
        methods = PROVING if room == "ir" else ()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                id = node.args[0]
                named = getattr(node.func, "id", "") in names
                named |= getattr(node.func, "attr", "") in methods
                if named and isinstance(id, ast.Constant) and isinstance(id.value, str):
                    yield from filter(None, (id.value,))


def titles() -> dict[str, str]:
    """Return the titles of the checks by their ids, from their docstrings."""
    found = {}
    for each in registered_kinds():
        found[title_id(each.kind)] = heading(each.decide, each.kind)
    return found


def words_of(language: str) -> str:
    """Return what a message file should hold."""
    path = WORDS / f"{language}.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if language == ENGLISH:
        known |= titles()
    fresh = {id: known.get(id, "") for id in sorted({*said(), *titles()})}
    return json.dumps(fresh, ensure_ascii=False, indent=0) + "\n"


def main() -> int:
    """Write or check; return the exit code."""
    parser = argparse.ArgumentParser(description="Bring the message files up to date.")
    parser.add_argument("--check", action="store_true", help="only name the stale ones")
    arguments = parser.parse_args()
    stale = []
    for language in LANGUAGES:
        path = WORDS / f"{language}.json"
        text = words_of(language)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if not arguments.check:
                path.write_text(text, encoding="utf-8")
    for path in stale:
        print(path.relative_to(ROOT))
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
