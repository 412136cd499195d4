"""What is shipped of the grader into a sandbox, and how it is started there."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import grader

_ROOT = "/run/grader"
_START = (
    f"import importlib, sys; sys.path.insert(0, {_ROOT!r}); name, *arguments = sys.argv[1:]; "
    "del sys.argv[1:]; importlib.import_module(name).main(arguments)"
)


def shipped(package: Literal["kernel", "runner"]) -> dict[str, bytes]:
    """Return the files of one package for the inside, with the messages that both sides share.

    Keys are absolute paths in the sandbox. Nothing else of the grader is there.
    """
    source = Path(grader.__file__).parent
    files = [
        source / "__init__.py",
        source / "messages.py",
        *sorted((source / package).glob("*.py")),
    ]
    return {f"{_ROOT}/grader/{file.relative_to(source)}": file.read_bytes() for file in files}


def start_arguments(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the arguments of `python -I` that import a shipped module and call its `main`.

    `module` is the full dotted name; `main` gets `arguments` as a list of strings.
    """
    return ("-c", _START, module, *arguments)
