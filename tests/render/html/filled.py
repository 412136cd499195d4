"""Reports of which every field is filled, whatever fields there are."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from grader.language import Text, foreign
from grader.report import CellOutput, Report

Field = tuple[str, str]
"""The names of a struct and of one of its fields."""


_hints = cache(get_type_hints)
"""The types of a struct's fields; each struct is filled dozens of times."""


class Filler:
    """Fills structs by their types: `text` for every text, `number` for every number.

    A list has `items` items; of the words and types that a field may hold, one after the other is
    taken. Optional structs are always there.
    """

    def __init__(
        self,
        text: Callable[[Field], str],
        number: Callable[[Field], float] = lambda _: 3,
        items: int = 3,
    ) -> None:
        self._text = text
        self._number = number
        self._items = items
        self._turn = itertools.count()

    def report(self) -> Report:
        """Return a report."""
        report: Report = self.struct(Report)
        return report

    def struct(self, kind: type[msgspec.Struct]) -> Any:
        """Return a struct of any kind."""
        hints = _hints(kind)
        return kind(
            **{
                name: self._value(hints[name], (kind.__name__, name))
                for name in kind.__struct_fields__
            }
        )

    def _value(self, hint: Any, field: Field) -> Any:
        origin, arguments = get_origin(hint), get_args(hint)
        if origin is Literal:
            return self._next(arguments)
        if origin in (Union, types.UnionType):
            structs = [each for each in arguments if is_struct(each)]
            return self._value(structs[0] if structs else self._next(arguments), field)
        if origin is tuple:
            return tuple(self._items_of(arguments, field))
        if origin is dict:
            return {self._text(field): self._value(arguments[1], field)}
        return self._plain(hint, field)

    def _next(self, choices: tuple[Any, ...]) -> Any:
        return choices[next(self._turn) % len(choices)]

    def _items_of(self, arguments: tuple[Any, ...], field: Field) -> Iterator[Any]:
        if arguments[-1] is not Ellipsis:
            arguments, count = arguments, 1
        else:
            arguments, count = arguments[:1], self._count(arguments[0])
        for _ in range(count):
            for argument in arguments:
                yield self._value(argument, field)

    def _count(self, item: Any) -> int:
        """Of outputs there are enough for one of each kind."""
        return 6 if item is CellOutput and self._items else self._items

    def _plain(self, hint: Any, field: Field) -> Any:
        if hint is str:
            return self._text(field)
        if hint is Text:
            return foreign(self._text(field))
        if hint is bool:
            return self._next((True, False))
        if hint is int:
            return int(self._number(field))
        if hint is float:
            return float(self._number(field))
        if hint is type(None):
            return None
        if hint is datetime:
            return datetime(2026, 3, 9, tzinfo=timezone.utc)
        return self.struct(hint)


def is_struct(hint: Any) -> bool:
    """Say whether a type is one of the report's own."""
    return isinstance(hint, type) and issubclass(hint, msgspec.Struct)


def text_fields() -> list[Field]:
    """Return every field of a report that holds text of any kind."""
    seen: dict[Field, None] = {}

    def remember(field: Field) -> str:
        seen[field] = None
        return "x"

    Filler(remember).report()
    return list(seen)
