"""What a decoder complains of is told in words of who writes TOML."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import inspect

from grader.assignment import Assignment
from grader.refusals import FORMS, places, told


class Inner(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int = 0
    sign: Annotated[int, msgspec.Meta(ge=-1, lt=2)] = 0


class Outer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=3)]
    inner: tuple[Inner, ...] = ()
    mode: Literal["day", "hour"] | None = None
    due: datetime | None = None
    share: Annotated[float, msgspec.Meta(gt=0)] | None = None
    titles: dict[str, str] = {}
    several: int | str = 0


def refusal(toml: str) -> str:
    with pytest.raises(msgspec.MsgspecError) as caught:
        msgspec.toml.decode(toml.encode(), type=Outer)
    return told(caught.value, Outer).english


@pytest.mark.parametrize(
    ("toml", "words"),
    [
        ("inner = []", "the key `name` is missing"),
        (
            "name = 1",
            "`name` must be a string in quotation marks, not a whole number - at `$.name`",
        ),
        ("name = ''", "`name` must not be empty - at `$.name`"),
        ("inner = [{ siz = 1 }]", "there is no key `siz` (did you mean `size`?) - at `$.inner[0]`"),
        ("inner = [{ per_size = 1 }]", "there is no key `per_size`; known: `size`, `sign` - at"),
        ("inner = [{ size = 1.0 }]", "must be a whole number, not a number with a point - at"),
        ("inner = [{ sign = -2 }]", "`sign` must be -1 or more - at `$.inner[0].sign`"),
        ("inner = [{ sign = 2 }]", "`sign` must be 1 or less - at `$.inner[0].sign`"),
        ("inner = 3", "`inner` must be a list in brackets, not a whole number - at `$.inner`"),
        ("inner = [3]", "`inner` must be a table, not a whole number - at `$.inner[0]`"),
        ("mode = 'week'", '`mode` must be one of "day", "hour", not \'week\' - at `$.mode`'),
        ("due = 2026-12-01", "`due` must be a date with its time, not a date - at `$.due`"),
        ("share = 0", "`share` must be more than 0 - at `$.share`"),
        ("titles = { zh = 1 }", "`titles` must be a string in quotation marks, not a whole"),
        ("name = x", "it is not valid TOML (Invalid value (at line 1, column 8)): quote strings"),
    ],
)
def test_it_is_told_what_to_write(toml: str, words: str) -> None:
    assert refusal(toml).startswith(words) or words in refusal(toml)


@pytest.mark.parametrize("toml", ["name = 'long'", "name = 'a'\nseveral = 1.5"])
def test_what_has_no_words_is_told_as_it_came(toml: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.toml.decode(toml.encode(), type=Outer)
    assert str(caught.value) == told(caught.value, Outer).english


def test_what_is_no_text_is_told() -> None:
    with pytest.raises(UnicodeDecodeError) as caught:
        b"\xff".decode()
    assert told(caught.value, Outer).english == "it is not UTF-8 text"


def test_a_path_is_its_steps() -> None:
    assert places("$.part[0].check[12].options") == ("part", 0, "check", 12, "options")


def test_every_form_of_an_assignment_has_words() -> None:
    assert set(_patterns(inspect.type_info(Assignment))) <= FORMS.keys()


def _patterns(kind: object) -> Iterator[str]:
    """Yield the regular expressions of a type and of all that is in it."""
    if isinstance(kind, inspect.StrType) and kind.pattern is not None:
        yield kind.pattern
    for within in vars_of(kind):
        yield from _patterns(within)


def vars_of(kind: object) -> Iterator[object]:
    if isinstance(kind, inspect.Type | inspect.Field):
        for name in kind.__struct_fields__:
            value = getattr(kind, name)
            yield from value if isinstance(value, tuple) else (value,)
