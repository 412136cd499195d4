"""Tokens of people at a learning management system: from the environment or a keyring alone.

A token stands in no file of the course, no argument, no message and no log: whoever has it is its
owner in the system.
"""

import re
from collections.abc import Callable, Mapping
from typing import Protocol

from grader.errors import UsageError
from grader.language import say
from grader.lms.choices import OwnApi

SERVICE = "tvm-grader"
VARIABLES: Mapping[OwnApi, str] = {"canvas": "CANVAS_TOKEN", "moodle": "MOODLE_TOKEN"}

_SHAPE = re.compile(r"[!-~]{8,4096}")
"""A line break in a header would begin another header."""

Lookup = Callable[[str, str], "str | None"]
"""Returns the secret of a service and a name, None where there is none."""


class Credential(Protocol):
    """What a request is sent with."""

    def reveal(self) -> str:
        """Return a token, to put it into a request. Raises LmsError where there is none."""
        ...

    def renew(self) -> bool:
        """Forget the token, which was refused; return whether `reveal` returns another one."""
        ...


class Token:
    """A token that no formatting shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return it, to put it into a request."""
        return self._value

    def renew(self) -> bool:
        """Return that a person has to make another one."""
        return False

    def __repr__(self) -> str:
        return "Token(***)"


def find_token(
    platform: OwnApi, host: str, environment: Mapping[str, str], lookup: Lookup | None = None
) -> Token:
    """Return the token for a host. Raises UsageError where there is none, or it is malformed."""
    variable = VARIABLES[platform]
    value = environment.get(variable, "").strip()
    if not value:
        value = ((lookup or from_keyring)(SERVICE, host) or "").strip()
    if not value:
        raise UsageError(
            say("there-no-token", host=host),
            say("set-variable-or-run", variable=variable, command=f"keyring set {SERVICE} {host}"),
        )
    if not _SHAPE.fullmatch(value):
        raise UsageError(
            say("token-for-malformed", host=host), say("copy-again-without-spaces-and-line-breaks")
        )
    return Token(value)


def from_keyring(service: str, name: str) -> str | None:
    """Return a secret of the system's keyring; None without the library, or where it fails."""
    try:
        import keyring
    except ImportError:
        return None
    try:
        found = keyring.get_password(service, name)
    except Exception:  # noqa: BLE001 - of any backend: locked, absent, refused by the desktop
        return None
    return found if isinstance(found, str) else None
