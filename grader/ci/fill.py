"""Filling a recipe's text in: every value as one word of its language, whatever is in it."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from importlib import resources

from grader.errors import UsageError


class _Blanks(string.Template):
    """A text with blanks such as `@@{COURSE}`: neither shells nor workflows have such a thing."""

    delimiter = "@@"
    idpattern = "[A-Z]+"
    flags = re.RegexFlag(0)


_SPECIAL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029$`\\]|\{\{")
"""What a service would replace in a value before a shell or `grader` sees it, and line ends."""


def fill(
    name: str,
    words: Mapping[str, str],
    quote: Callable[[str], str],
    plain: Mapping[str, str] | None = None,
) -> str:
    """Return the text of the recipe's file `name` with its blanks filled.

    `words` come from people: each is quoted, as one word of the file's language. `plain` stands as
    it is. Raises UsageError for a word that a service would not take as it is.
    """
    for word in words.values():
        if _SPECIAL.search(word):
            raise UsageError(
                f"{word!r} cannot stand in a recipe.",
                "Leave out $, `, \\, {{ and characters that cannot be printed.",
            )
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    quoted = {key: quote(word) for key, word in words.items()}
    return _Blanks(text).substitute(quoted, **(plain or {}))
