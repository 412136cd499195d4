"""The language in which students are spoken to.

Every sentence for a student is said by `say`, in English in the code, with its values by name. The
catalogues in `locale/` have it in other languages; what they lack is said in English. Which
language is spoken is decided once for each grading, by `speaking`; what is written down before that
is kept by `later`, and said by `retell`.
"""

from __future__ import annotations

import functools
import gettext
import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final, NamedTuple

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "zh", "ko")
"""What grader can say everything in: English, Chinese and Korean."""

CATALOGUES = Path(__file__).parent / "locale"

_spoken: ContextVar[str] = ContextVar("spoken", default=ENGLISH)


class Marked(NamedTuple):
    """A sentence in English that is in the catalogues, and has yet to be said.

    It is no text: a reader of Chinese once got a hint in English that nobody had said.
    """

    text: str


def say(sentence: str | Marked, /, **values: object) -> str:
    """Return a sentence in the language that is spoken, with `values` in place of their names.

    It is what the code says, in English: the key of the catalogues. Raises KeyError where a value
    is missing.
    """
    text = sentence.text if isinstance(sentence, Marked) else sentence
    translated = _catalogue(_spoken.get()).gettext(text) if text else ""
    return translated.format(**values) if values else translated


class Later(str):
    """A sentence in English that can still be said in the language that will be spoken."""

    __slots__ = ("text", "values")

    text: str
    values: dict[str, object]


def later(marked: str | Marked, /, **values: object) -> Later:
    """Return a sentence that is written down before it is known who will read it.

    It is the English sentence until `retell` says it; a value may be such a sentence, too.
    """
    text = marked.text if isinstance(marked, Marked) else marked
    sentence = Later(text.format(**values) if values else text)
    sentence.text, sentence.values = text, values
    return sentence


def retell(sentence: str) -> str:
    """Say what `later` kept in the language that is spoken; return any other text as it is."""
    if not isinstance(sentence, Later):
        return sentence
    values = {
        name: retell(value) if isinstance(value, str) else value
        for name, value in sentence.values.items()
    }
    return say(sentence.text, **values)


def join(*sentences: str) -> str:
    """Return sentences one after the other; those that are empty are left out.

    Chinese has its spaces in its full stops.
    """
    return ("" if spoken() == "zh" else " ").join(filter(None, sentences))


def in_a_row(items: Iterable[str]) -> str:
    """Return items in a row, between them what the language has there."""
    return say(", ").join(items)


def mark(text: str) -> Marked:
    """Mark a constant for the catalogues: whoever uses it says it."""
    return Marked(text)


@contextmanager
def speaking(language: str | None) -> Iterator[None]:
    """Speak a language within the context; English where it is None or not one of ours.

    A thread that is started within speaks English unless it gets a copy of the context.
    """
    token = _spoken.set(language if language in LANGUAGES and language is not None else ENGLISH)
    try:
        yield
    finally:
        _spoken.reset(token)


def spoken() -> str:
    """Return the code of the language that is spoken."""
    return _spoken.get()


@functools.cache
def _catalogue(language: str) -> gettext.NullTranslations:
    path = CATALOGUES / f"{language}.po"
    if language == ENGLISH or not path.exists():
        return gettext.NullTranslations()
    compiled = io.BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file, locale=language))
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
