"""Write the catalogues of what students are told: grader/locale/zh.po and ko.po.

    python tools/make_catalogues.py            bring them up to date with the code
    python tools/make_catalogues.py --check    write nothing; exit 1 and name what is stale

What is translated stays; what is new has an empty translation, and is said in English until there
is one; what is no longer said goes. The titles of checks are the first sentences of docstrings.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from grader.checks import kinds as checks
from grader.checks.registry import registered_kinds
from grader.language import CATALOGUES, ENGLISH, LANGUAGES

ROOT = Path(__file__).resolve().parent.parent
SAYING = {"say": None}
TELLING = {"say": None, "tell": None}
"""What makes a text. Where things are shown, there is what tells one, too."""

SHOWING = ("selfcheck", "render")
"""Folders in which things are shown."""

assert checks.__all__  # importing the package registers the checks


def messages() -> Catalog:
    """Return everything that is said, without translations, with the files that say it."""
    catalogue = Catalog(charset="utf-8", fuzzy=False)
    found = {(file, message) for folder in ("", *SHOWING) for file, message in _found(folder)}
    for file, message in sorted(found):
        catalogue.add(message, locations=[_whole(file)])
    for kind in registered_kinds():
        catalogue.add(kind.title.english, locations=[_whole(f"check {kind.kind}")])
    return catalogue


def _found(folder: str) -> Iterator[tuple[str, str]]:
    """Yield what is said in the files of a folder of grader's, and by which file."""
    found = extract_from_dir(
        ROOT / "grader" / folder,
        [("**.py", "python")],
        keywords=TELLING if folder else SAYING,
        strip_comment_tags=True,
    )
    for file, _, message, _, _ in found:
        assert isinstance(message, str), "none has a plural of its own"
        yield (Path("grader") / folder / file).as_posix(), message


def _whole(place: str) -> Any:
    """Return a location without a line, which Babel writes and its annotations do not know."""
    return place, None


def catalogue_text(language: str, template: Catalog) -> bytes:
    """Return a catalogue that has what `template` has, with the translations that there are."""
    path = CATALOGUES / f"{language}.po"
    known = read_po(io.BytesIO(path.read_bytes()), locale=language) if path.exists() else Catalog()
    fresh = Catalog(locale=language, charset="utf-8", fuzzy=False)
    for message in template:
        if message.id:
            old = known.get(message.id)
            translated = old.string if old is not None and not old.fuzzy else ""
            fresh.add(message.id, translated, locations=message.locations)
    written = io.BytesIO()
    write_po(written, fresh, width=100, omit_header=True, sort_output=True)
    header = b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n"Language: '
    return header + language.encode() + b'\\n"\n\n' + written.getvalue().strip() + b"\n"


def main() -> int:
    """Write or check; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the catalogues of messages.")
    parser.add_argument("--check", action="store_true", help="only say which ones are stale")
    arguments = parser.parse_args()
    template, stale = messages(), []
    for language in LANGUAGES:
        path = CATALOGUES / f"{language}.po"
        if language == ENGLISH:
            continue
        text = catalogue_text(language, template)
        if not path.exists() or path.read_bytes() != text:
            stale.append(path)
            if not arguments.check:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(text)
    for path in stale:
        print(path.relative_to(ROOT))
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
