"""Bring the message files up to date with the code: grader/words/en.json, zh.json and ko.json.

Sentences that one folder of grader/evidence/ alone says stand in the words/ of that folder.

    python tools/make_words.py            remove what nothing says, list what has no words yet
    python tools/make_words.py --check    write nothing; exit 1 and name what is stale

One message has one id: it exits with 1, too, if two ids have the same text.

Sentences are written in en.json by hand, beside the id that the code says. Titles of checks are the
first sentences of their docstrings. Untranslated sentences are "" there, and appear in English.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from grader.checks import kinds as checks
from grader.evidence.registry import heading, registered_kinds, title_id
from grader.language import ENGLISH, LANGUAGES, WORDS
from grader.messages.evidence import KINDS

ROOT = Path(__file__).resolve().parent.parent
SHOWING = ("selfcheck", "render")
"""Folders whose `tell` takes ids as well."""

PROVING = ("doubt", "refuse")
"""What takes an id as the code of a reason against a function, in grader/ir."""

SAME_WORDS_ONLY = frozenset(
    {
        *("count-graded", "students-graded"),  # submissions; a text that counts students
        *("done-total", "points-possible", "score-maximum"),  # progress; points in two notations
        *("named-and-more", "names-and-count-more"),  # Korean counts people by another word
        # a mistake of several settings names them: their values are found and wanted of each
        *("dilation-dilation-found-should-dilation-wanted", "dilation-should"),
        *("padding-padding-found-should-padding-wanted", "padding-should"),
        *("stride-stride-found-should-stride-wanted", "stride-should"),
    }
)
"""Ids of texts that are another's in English, and still another message."""

assert checks.__all__  # importing the package registers the checks


def home(path: Path) -> Path:
    """Return the folder that the sentences of a module belong to, if no other module says them."""
    room, *rest = path.relative_to(ROOT / "grader").parts
    is_kind = room == "evidence" and rest[0] in KINDS
    return ROOT / "grader" / "evidence" / rest[0] / "words" if is_kind else WORDS


def said() -> dict[str, set[Path]]:
    """Return every id that code or a template says, with the folders that it may belong to."""
    found: defaultdict[str, set[Path]] = defaultdict(set)
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
                    found[id.value].add(home(path))
    for path in sorted((ROOT / "grader" / "render" / "html" / "templates").glob("*.j2")):
        for id in re.findall(r"\btell\('([^']+)'", path.read_text(encoding="utf-8")):
            found[id].add(WORDS)
    found.pop("", None)
    return found


def titles() -> dict[str, tuple[str, Path]]:
    """Return the titles of the checks by their ids, by their docstrings, and where these belong."""
    found = {}
    for each in registered_kinds():
        path = Path(each.decide.__code__.co_filename)
        found[title_id(each.kind)] = heading(each.decide, each.kind), home(path)
    return found


def homes() -> dict[str, Path]:
    """Return the folder that each sentence belongs to."""
    found = {id: next(iter(where)) if len(where) == 1 else WORDS for id, where in said().items()}
    return found | {id: where for id, (_, where) in titles().items()}


def words_of(folder: Path, language: str, ids: dict[str, Path]) -> str:
    """Return what a message file should hold; words that it lacks may have stood in another one."""
    known: dict[str, str] = {}
    for other in {*ids.values(), folder}:
        path = other / f"{language}.json"
        known |= json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if language == ENGLISH:
        known |= {id: title for id, (title, _) in titles().items()}
    fresh = {id: known.get(id, "") for id in sorted(ids) if ids[id] == folder}
    return json.dumps(fresh, ensure_ascii=False, indent=0) + "\n"


def doubles(words: Mapping[str, str]) -> list[tuple[str, ...]]:
    """Return the ids that have one text, apart from the names of its values.

    A text of values and signs alone is no message: what it says lies in the values.
    """
    found: defaultdict[str, list[str]] = defaultdict(list)
    for id, text in words.items():
        if re.search(r"[A-Za-z]", re.sub(r"\{.*?\}", "", text)) and id not in SAME_WORDS_ONLY:
            found[re.sub(r"\{\w*", "{", text)].append(id)
    return sorted(tuple(ids) for ids in found.values() if len(ids) > 1)


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def main() -> int:
    """Write or check; return the exit code."""
    parser = argparse.ArgumentParser(description="Bring the message files up to date.")
    parser.add_argument("--check", action="store_true", help="only name the stale ones")
    arguments = parser.parse_args()
    ids = homes()
    files = [(folder, language) for folder in {*ids.values()} for language in LANGUAGES]
    wanted = {folder / f"{name}.json": words_of(folder, name, ids) for folder, name in files}
    stale = [path for path, text in sorted(wanted.items()) if not _holds(path, text)]
    for path in stale:
        if not arguments.check:
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted[path], encoding="utf-8")
        print(path.relative_to(ROOT))
    english = [json.loads(text) for path, text in wanted.items() if path.stem == ENGLISH]
    doubled = doubles({id: text for words in english for id, text in words.items()})
    for same in doubled:
        print("one message, several ids:", ", ".join(same))
    return 1 if (arguments.check and stale) or doubled else 0


if __name__ == "__main__":
    raise SystemExit(main())
