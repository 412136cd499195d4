"""What a decoder complains of, in sentences for who wrote the file.

msgspec speaks of arrays, objects and regular expressions, and does not say which words it would
take. Instructors write TOML, and want to know what to write.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from difflib import get_close_matches
from typing import NamedTuple

import msgspec
from msgspec import inspect

from grader.language import Text, foreign, in_a_row, say

_AT = re.compile(r"(?s)(.*) - at `(\$[^`]*)`")
_STEP = re.compile(r"\.?([\w-]+)|\[(\d+|\.\.\.)\]")

Place = tuple["str | int", ...]

WORDS: dict[str, Text] = {
    "array": say("list-in-brackets"),
    "bool": say("true-or-false"),
    "date": say("date"),
    "datetime": say("date-with-time"),
    "decimal": say("number"),
    "float": say("number"),
    "int": say("whole-number"),
    "object": say("table"),
    "str": say("text-in-quotation-marks"),
    "time": say("time"),
}
"""What msgspec calls something, and what stands in a TOML file then."""

FOUND: dict[str, Text] = {
    **WORDS,
    "float": say("number-with-point"),
    "str": say("text"),
}
"""The same for what stands there and should not: only a whole number is wanted in its place."""

FORMS: dict[str, Text] = {
    r"^[a-z][a-z0-9_-]*\Z": say("small-letters-digits-and-with-letter-first"),
    r"^[^\W\d]\w*\Z": say("python-name"),
    r"^[*?]?[^\W\d][\w*?]*\Z": say("python-name-in-which-and-wildcards"),
    r"^(?!\d)[\w*?]+\Z": say("python-name-in-which-and-wildcards"),
    r"^[SR]+\Z": say("letters-s-and-r"),
}
"""The regular expressions of assignments, in words."""


class _Complaint(NamedTuple):
    """What was said of a place: the words that a pattern found, the key, and what belongs there."""

    words: tuple[str, ...]
    key: str
    expected: inspect.Type | None


def told(error: Exception, kind: type) -> Text:
    """Return what is wrong with a document that is no `kind`: a clause, without a full stop."""
    if isinstance(error, UnicodeDecodeError):
        return say("not-utf-8-text")
    message = str(error).strip().rstrip(".")
    if not isinstance(error, msgspec.DecodeError):
        return foreign(message)
    if not isinstance(error, msgspec.ValidationError):
        return say("not-valid-toml-quote-strings-write-booleans", message=message)
    found = _AT.fullmatch(message)
    about, path = (found[1], found[2]) if found else (message, "")
    clause = _clause(about, places(path), kind)
    if clause is None:
        return foreign(message)
    return say("at", clause=clause, path=path) if path else clause


def places(path: str) -> Place:
    """Return the steps of a path such as `$.part[0].check`."""
    return tuple(name or _index(number) for name, number in _STEP.findall(path.removeprefix("$")))


def _index(number: str) -> int:
    return int(number) if number.isdecimal() else 0  # "...": some value of a dictionary


def _clause(about: str, place: Place, kind: type) -> Text | None:
    key = next((step for step in reversed(place) if isinstance(step, str)), "")
    for pattern, phrase in _PHRASES:
        found = re.fullmatch(pattern, about)
        if found:
            return phrase(_Complaint(found.groups(), key, _expected(kind, place)))
    return None


def _expected(kind: type, place: Place) -> inspect.Type | None:
    """Return the type of what belongs at a place, None where that is unknown."""
    found: inspect.Type | None = _plain(inspect.type_info(kind))
    for step in place:
        found = _inside(found, step)
    return found


def _inside(outer: inspect.Type | None, step: str | int) -> inspect.Type | None:
    if isinstance(outer, inspect.StructType):
        fields = {field.encode_name: field.type for field in outer.fields}
        return _plain(fields[step]) if step in fields else None
    if isinstance(outer, inspect.VarTupleType | inspect.ListType | inspect.FrozenSetType):
        return _plain(outer.item_type)
    return None


def _plain(kind: inspect.Type) -> inspect.Type:
    """Return a type without its description, and without the None that it may be."""
    if isinstance(kind, inspect.Metadata):
        return _plain(kind.type)
    if isinstance(kind, inspect.UnionType):
        some = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
        return _plain(some[0]) if len(some) == 1 else kind
    return kind


_ALIKE = 0.7
"""How much a key that was meant is like the one that stands there: `per_day` is no `free_days`."""


def _unknown(complaint: _Complaint) -> Text:
    (key,) = complaint.words
    table = complaint.expected
    fields = table.fields if isinstance(table, inspect.StructType) else ()
    known = [each.encode_name for each in fields]
    meant = get_close_matches(key, known, n=1, cutoff=_ALIKE)
    if meant:
        return say("there-no-key-did-you-mean", key=key, meant=meant[0])
    return say("there-no-key-known", key=key, known=in_a_row(f"`{each}`" for each in known))


def _of_another_type(complaint: _Complaint) -> Text | None:
    wanted, found = complaint.words
    wanted = wanted.removesuffix(" | null")
    if wanted not in WORDS or found not in FOUND:
        return None
    return say("must-and", key=complaint.key, wanted=WORDS[wanted], found=FOUND[found])


def _bounded(complaint: _Complaint) -> Text:
    sign, bound = complaint.words
    limit = f"{float(bound):.12g}"
    if sign == ">=":
        return say("must-or-more", key=complaint.key, limit=limit)
    if sign == "<=":
        return say("must-or-less", key=complaint.key, limit=limit)
    return say("must-more-than", key=complaint.key, limit=limit)


def _of_another_form(complaint: _Complaint) -> Text | None:
    form = FORMS.get(ast.literal_eval(complaint.words[0]))
    if form is None:
        return None
    return say("must", key=complaint.key, form=form)


def _of_other_words(complaint: _Complaint) -> Text | None:
    kind = complaint.expected
    if not isinstance(kind, inspect.LiteralType):
        return None
    return say(
        "must-one-and",
        key=complaint.key,
        known=in_a_row(foreign(f'"{each}"') for each in kind.values),
        found=complaint.words[0],
    )


_PHRASES: tuple[tuple[str, Callable[[_Complaint], Text | None]], ...] = (
    (r"Object contains unknown field `(.*)`", _unknown),
    (r"Object missing required field `(.*)`", lambda it: say("key-missing", key=it.words[0])),
    (r"Expected `(.*)`, got `(.*)`", _of_another_type),
    (r"Expected `(?:int|float)` (>=|<=|>) (\S+)", _bounded),
    (r"Expected `(?:str|array)` of length >= 1", lambda it: say("must-not-empty", key=it.key)),
    (r"Expected `str` matching regex (.*)", _of_another_form),
    (r"Invalid enum value (.*)", _of_other_words),
)
