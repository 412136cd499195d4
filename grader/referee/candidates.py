"""Which captures of a part are looked at, and reading them: no TVM, no Python of a student."""

from __future__ import annotations

import re

from grader.assignment import PartTable
from grader.errors import IRError
from grader.ir.facts import ModuleFacts
from grader.ir.names import shown
from grader.ir.read import read_module
from grader.language import say
from grader.messages import PYTHON_FUNCTION, Capture
from grader.referee.evidence import Candidate, Problem

CANDIDATE_LIMIT = 6
"""Most candidates of one part that are run: those with the name asked for first, and of these the
latest. Nobody has more serious versions."""

PYTHON_LIMIT = 2
"""The same for Python functions, each of which may use up all the time that a task has."""

_EXTERN_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,127}", re.ASCII)


def is_meant(part: PartTable, capture: Capture) -> bool:
    """Say whether a capture may be the answer: in some parts other modules are no drafts of it."""
    return capture.by_name or capture.trace is not None or not part.only_named


def choose(part: PartTable, found: list[Capture]) -> list[Capture]:
    """Return the captures to run: what bears a name that was asked for first, the latest first."""
    latest = [*found][::-1]
    latest.sort(key=lambda capture: not capture.by_name)
    return latest[: PYTHON_LIMIT if part.entry_kind == "python" else CANDIDATE_LIMIT]


def inspect(part: PartTable, capture: Capture) -> Candidate | Problem:
    """Read a capture. A finding of the allow-list, or a graph that cannot be read, is a problem."""
    if part.entry_kind == "python":
        return _inspect_python(capture)
    names = [name for name in capture.externs if _EXTERN_NAME.fullmatch(name)]
    permitted = tuple(names) if part.externs else ()
    try:
        facts = read_module(capture.module, permitted)
        base = read_module(capture.base) if capture.base is not None else None
    except IRError as error:
        return Problem(error.message, error.hint)
    if facts.findings:
        first = facts.findings[0]
        is_unknown = first.subject not in capture.externs and _EXTERN_NAME.fullmatch(first.subject)
        if part.externs and first.code == "packed_call" and is_unknown:
            return _not_registered(first.subject)
        return Problem(
            facts.findings[0].message,
            say(
                "Modules may use TensorIR, Relax and arithmetic, and no other way out of"
                " the module."
            ),
        )
    return Candidate(capture, facts, base if base is None or not base.findings else None)


def _not_registered(name: str) -> Problem:
    """Say that a part which may call external functions calls one that the notebook lacks."""
    return Problem(
        say(
            "The module calls the external function `{name}`, and the notebook registers none of"
            " that name.",
            name=shown(name),
        ),
        say(
            'Register it before the module is built: @tvm.register_global_func("{name}") above the'
            " function. Names that TVM itself has are not taken.",
            name=shown(name),
        ),
    )


def _inspect_python(capture: Capture) -> Candidate | Problem:
    """Take a capture of a Python function: there is no module to read."""
    if capture.module or list(capture.externs) != [PYTHON_FUNCTION]:
        return Problem(
            say("The function could not be taken over."), say("Define it in a cell of its own.")
        )
    nothing = ModuleFacts(
        has_main=False, inputs=(), output=None, calls=(), functions={}, externs=(), findings=()
    )
    return Candidate(capture, nothing)
