"""The text of a notebook's functions, as far as it is known."""

from __future__ import annotations

import inspect
import linecache
import tokenize
from collections.abc import Iterable
from types import FunctionType

from grader.kernel.objects import Namespace, is_notebook_scope
from grader.messages import SOURCE_LIMIT


def source_of(objects: Iterable[object], namespace: Namespace, folders: tuple[str, ...]) -> str:
    """Return the texts of those objects that are functions of the notebook, in their order.

    IPython keeps the text of every cell that it has run in Python's cache of lines. The result has
    at most SOURCE_LIMIT characters and can be encoded.
    """
    texts: dict[str, None] = {}
    for each in objects:
        if type(each) is FunctionType and is_notebook_scope(each.__globals__, namespace, folders):
            texts[_text_of(each)] = None
    joined = "\n".join(text for text in texts if text)[:SOURCE_LIMIT]
    return joined.encode("utf-8", "replace").decode()


def _text_of(function: FunctionType) -> str:
    """Return the lines of a definition with its decorators; "" where nobody keeps them."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    try:
        return "".join(inspect.getblock(lines))
    except (SyntaxError, tokenize.TokenError):
        return ""
