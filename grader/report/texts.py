"""Texts in a document: what is said in the document's language, beside what it is made of.

A reader with nothing but the document finds the words in `text`; a renderer that is to speak
another language makes them anew. Documents may be anybody's: what is decoded here is bounded, and
its formats are those of numbers.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Collection
from typing import Annotated, Any, NoReturn

import msgspec

from grader.decoding import prepared
from grader.language import (
    ENGLISH,
    Clause,
    Clauses,
    Enumeration,
    Foreign,
    Joined,
    Lines,
    Sentence,
    Sentences,
    Text,
    Value,
    id_of,
    template,
)

LONGEST = 1_000_000
"""Characters that a text which is put together may have, about."""

DEEPEST = 16
"""Texts within texts."""

_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_FORMAT = re.compile(r",?(?:\.[0-9]{1,2})?[a-z%]?", re.ASCII)
_KINDS: dict[type[Joined], str] = {
    Sentences: "sentences",
    Lines: "lines",
    Enumeration: "row",
    Clauses: "clauses",
}
_UNBOUNDED = frozenset({"inf", "-inf", "nan"})
"""Numbers that JSON does not have."""


class Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A text as a document has it: its words in the document's language, and how they are made.

    A sentence of the message files has its `id` (in documents from before December 2026 that is the
    sentence in English) and `values` for the names in it. Several texts are `sentences` or `lines`
    after one another, a `row` with commas, or `clauses` with semicolons; a `clause` is a sentence
    within another one. Foreign words have nothing but their author's own `translations`, if any.
    """

    text: str
    id: Annotated[str, msgspec.Meta(min_length=1, max_length=2000)] | None = None
    values: dict[str, str | int | float | Form] = {}
    sentences: tuple[Form, ...] = ()
    lines: tuple[Form, ...] = ()
    row: tuple[Form, ...] = ()
    clauses: tuple[Form, ...] = ()
    clause: Form | None = None
    translations: dict[str, str] = {}


def encoder(language: str) -> Callable[[Any], Any]:
    """Return what makes builtin values of texts in a language, for msgspec's `enc_hook`."""

    def encode(value: Any) -> Any:
        if not isinstance(value, Text):
            raise NotImplementedError(f"{type(value).__name__} has no form in a document")
        return form_of(value, language)

    return encode


def decode(wanted: type, value: Any) -> Any:
    """Make a text of builtin values, for msgspec's `dec_hook`. Raises msgspec.ValidationError."""
    return text_of(msgspec.convert(_checked(wanted, value), prepared(Form)))


def decode_old(wanted: type, value: Any) -> Any:
    """Make a text of a plain string, as documents before version 4 have it."""
    words = _checked(wanted, value)
    return Foreign(words) if isinstance(words, str) else _refuse("a text is no string")


def _checked(wanted: type, value: Any) -> Any:
    if wanted is not Text:
        raise NotImplementedError(f"{wanted.__name__} has no form in a document")
    return value


def form_of(text: Text, language: str) -> Form:
    """Return a text as a document in a language has it."""
    said = text.in_(language)
    if isinstance(text, Sentence):
        values = {name: _value_of(value, language) for name, value in text.values.items()}
        return Form(said, id=text.id, values=values)
    if isinstance(text, Clause):
        return Form(said, clause=form_of(text.whole, language))
    if isinstance(text, Joined):
        parts: Any = {_KINDS[type(text)]: tuple(form_of(part, language) for part in text.parts)}
        return Form(said, **parts)
    assert isinstance(text, Foreign)
    if text.translations:
        return Form(said, translations={ENGLISH: text.words, **text.translations})
    return Form(said)


def _value_of(value: Value, language: str) -> str | int | float | Form:
    if isinstance(value, Text):
        return form_of(value, language)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    return value


def text_of(form: Form) -> Text:
    """Return the text that a document has. Raises msgspec.ValidationError for what is none."""
    text = _Reading().text(form, DEEPEST)
    try:
        text.in_(ENGLISH)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        _refuse(f"a text cannot be said: {error}")
    return text


class _Reading:
    """Makes one text of a form, with bounds on what comes of it."""

    def __init__(self) -> None:
        self._left = LONGEST

    def text(self, form: Form, depth: int, times: int = 1) -> Text:
        """Return the text; what it is within repeats it so many `times`."""
        if depth == 0:
            _refuse("a text has too many within each other")
        several = {kind: getattr(form, name) for kind, name in _KINDS.items()}
        made = [form.id, form.clause, form.translations, *several.values()]
        if sum(map(bool, made)) > 1 or (form.values and form.id is None):
            _refuse("a text is made in two ways")
        if form.id is not None and not _is_gone(form.id, form.values):
            return self._sentence(form.id, form.values, depth, times)
        for kind, forms in several.items():
            if forms:
                return kind([self.text(each, depth - 1, times) for each in forms])
        if form.clause is not None:
            return Clause(self.text(form.clause, depth - 1, times))
        return self._foreign(form, times)

    def _foreign(self, form: Form, times: int) -> Text:
        others = {name: each for name, each in form.translations.items() if name != ENGLISH}
        words = form.translations.get(ENGLISH, form.text)
        if times > 1:
            self._take(len(words) * times)
        return Foreign(words, others)

    def _sentence(
        self, id: str, values: dict[str, str | int | float | Form], depth: int, times: int
    ) -> Text:
        id = id_of(id)
        sentence = template(id)
        self._take(len(sentence) * times)
        formats = _formats(sentence) if values else {}
        if formats.keys() != values.keys():
            _refuse("a sentence has other values than it names")
        told: dict[str, Value] = {}
        for name, value in values.items():
            often = times * len(formats[name])
            if isinstance(value, Form):
                told[name] = self.text(value, depth - 1, often)
            elif isinstance(value, str):
                self._take(len(value) * often)
                numeric = value in _UNBOUNDED and any(formats[name])
                told[name] = float(value) if numeric else value
            else:
                told[name] = value
        return Sentence(id, told)

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            _refuse("a text is too long")


def _is_gone(id: str, values: Collection[str]) -> bool:
    """Say whether no message file has the sentence of an id today, with these names of values.

    Reports are kept for years, and a sentence that was edited may name other values: then the
    report's own words are left.
    """
    if _ID.fullmatch(id) is None:
        return False
    sentence = template(id)
    return sentence == id or (bool(values) and _formats(sentence).keys() != set(values))


def _formats(sentence: str) -> dict[str, list[str]]:
    """Return the formats with which a sentence names each of its values."""
    found: dict[str, list[str]] = {}
    try:
        fields = list(string.Formatter().parse(sentence))
    except ValueError as error:
        _refuse(f"a sentence cannot be read: {error}")
    for _, name, form, conversion in fields:
        if name is None:
            continue
        is_plain = not form or _FORMAT.fullmatch(form) is not None
        if not name.isidentifier() or conversion not in (None, "r") or not is_plain:
            _refuse("a sentence has a format that none of ours has")
        found.setdefault(name, []).append(form or "")
    return found


def _refuse(why: str) -> NoReturn:
    raise msgspec.ValidationError(why)
