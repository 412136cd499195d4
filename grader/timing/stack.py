"""Calls with the stack moved: where it is decides how fast compiled loops are.

They spill vectors of 64 bytes to a stack that the system aligns to 16. At one of its four places no
vector crosses a line of the cache, and such a function is ten per cent faster there. And a load
from an array waits for a store to the stack whose address ends in the same twelve bits. Both are
decided when a process starts, so without this every run would favour other functions.
"""

import ctypes
import functools
import itertools
from collections.abc import Callable
from typing import Any, TypeVar

PLACES = 4
"""Places of a stack aligned to 16 bytes within a line of 64 bytes."""

WORDS = (4, 72, 140, 208)
"""Words of a structure that is passed by value. x86-64 copies it to the stack twice here, so each
is 1088 bytes from the one before: in another quarter of a page, at another line of it, at the same
place of the line. At one of these alone a schedule was 1.39 times as fast as the baseline in some
processes and 1.43 times in others; where the quickest of four counts, 1.42 to 1.44 times in each.
AArch64 passes the address of a structure, and is not moved."""

_NUMBERS = range(8, 16)
_LONG_NUMBERS = range(6)
"""Arguments beside it. How much stack each needs depends on the release of Python, so it is tried:
in Python 3.10 integers alone reach two places of four, in 3.14 all need four long doubles."""

Result = TypeVar("Result")
Types = tuple[Any, ...]


def call_at(place: int, placement: int, function: Callable[[], Result]) -> Result:
    """Call a function with the stack at one of `PLACES` within a line, and at the part of a page
    that belongs to a placement of arrays; return what it returns.

    Arguments that do not fit into registers are what moves it. Whatever it raises is raised here.
    """
    return _call(_types_of(place, placement % len(WORDS)), function)


def _call(types: Types, function: Callable[[], Result]) -> Result:
    results: list[Result] = []
    errors: list[BaseException] = []

    def call(*_: object) -> None:
        try:
            results.append(function())
        except BaseException as error:  # noqa: BLE001 - it cannot pass through a C function
            errors.append(error)

    ctypes.CFUNCTYPE(None, *types)(call)(*[each() for each in types])
    if errors:
        raise errors[0]
    return results[0]


def _types_of(place: int, part: int) -> Types:
    return (*_numbers()[place % len(_numbers())], _structure(WORDS[part]))


@functools.cache
def _structure(words: int) -> Any:
    fields = [("words", ctypes.c_int64 * words)]
    return type("Padding", (ctypes.Structure,), {"_fields_": fields})


@functools.cache
def _numbers() -> tuple[Types, ...]:
    """Return arguments for each place of a line that they lead to, the fewest."""
    found: dict[int, Types] = {}
    for longs, count in itertools.product(_LONG_NUMBERS, _NUMBERS):
        types = (ctypes.c_int64,) * count + (ctypes.c_longdouble,) * longs
        place = _call((*types, _structure(WORDS[0])), stack_address) // 16 % PLACES
        found.setdefault(place, types)
    return tuple(found[place] for place in sorted(found))


_VISITOR = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
_LIBRARY = ctypes.CDLL(None)


def stack_address() -> int:
    """Return an address at the end of the stack: `dl_iterate_phdr` has a variable there, of which
    it tells whom it calls. Only differences of such addresses mean something."""
    seen: list[int] = []

    def visit(variable: int, *_: object) -> int:
        seen.append(variable)
        return 1

    _LIBRARY.dl_iterate_phdr(_VISITOR(visit), None)
    return seen[0]
