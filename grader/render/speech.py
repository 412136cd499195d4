"""The language in which a rendering speaks: texts become words here.

A rendering says in which language it is, by `speaking`, and then tells its texts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from grader.language import ENGLISH, Text, Value, one_of_ours, say

_spoken: ContextVar[str] = ContextVar("spoken", default=ENGLISH)


def tell(sentence: str | Text, /, **values: Value) -> str:
    """Return a text in the language that is spoken; a sentence is said first, with its values.

    A sentence is the id that it has in the message files.
    """
    if isinstance(sentence, Text) and not values:
        return sentence.in_(_spoken.get())
    return say(sentence, **values).in_(_spoken.get())


@contextmanager
def speaking(language: str | None) -> Iterator[None]:
    """Speak a language within the context; English where it is None or not one of ours.

    A thread that is started within speaks English unless it gets a copy of the context.
    """
    token = _spoken.set(one_of_ours(language))
    try:
        yield
    finally:
        _spoken.reset(token)


def spoken() -> str:
    """Return the code of the language that is spoken."""
    return _spoken.get()
