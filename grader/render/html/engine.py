"""Fills templates: everything that is put into them is escaped."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

_CODE = re.compile(r"`([^`\n]+)`")

MOST_SPANS = 20
"""Pieces of code that are set as such in one text."""

_ROOT_SIZE = re.compile(r"(?<![\w.])(\d*\.?\d+)rem\b")


def spans(text: str) -> list[tuple[bool, str]]:
    """Return the pieces of a sentence, and whether each is code: it stands between backquotes."""
    pieces = _CODE.split(text, maxsplit=MOST_SPANS)
    return [(place % 2 == 1, piece) for place, piece in enumerate(pieces) if piece]


def template(name: str) -> Template:
    """Return the template of this file name."""
    return _environment().get_template(name)


def macro(name: str, piece: str, words: dict[str, str]) -> Callable[..., Markup]:
    """Return what makes a piece of a page: a macro of `name`.html.j2, which writes `words`."""
    module: Any = template(f"{name}.html.j2").make_module({"words": words})
    found: Callable[..., Markup] = getattr(module, piece)
    return found


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("grader.render.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters["spans"] = spans
    environment.filters["resized"] = _resized
    return environment


def _resized(style: str) -> Markup:
    """Measure our own style sheet by `--rem` in place of the root's letters, which are a host's."""
    return Markup(_ROOT_SIZE.sub(r"calc(\1 * var(--rem))", style))  # noqa: S704 - it is a file of ours
