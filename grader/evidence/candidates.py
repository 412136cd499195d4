"""Which captures of a part are looked at, and reading them: no TVM, no Python of a student."""

from __future__ import annotations

import re
from typing import NamedTuple

from msgspec.structs import replace

from grader.assignment import Comparison, Computation, PartTable
from grader.assignment_files import Given
from grader.errors import IRError
from grader.evidence.case import Candidate, Problem
from grader.evidence.functions import find_function
from grader.ir.attributes import without_idle_attributes
from grader.ir.facts import ModuleFacts
from grader.ir.read import read_module
from grader.language import say
from grader.messages import PYTHON_FUNCTION, Capture

CANDIDATE_LIMIT = 6
"""Most candidates of one part that are run: those with the name asked for first, and of these the
latest. Nobody has more serious versions."""

PYTHON_LIMIT = 2
"""The same for Python functions, each of which may use up all the time that a task has."""

READ_LIMIT = 24
"""Most candidates of one part that are read: those that the assignment gives are not run."""

_EXTERN_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,127}", re.ASCII)


def is_meant(part: PartTable, capture: Capture) -> bool:
    """Say whether a capture may be the answer: in some parts other modules are no drafts of it."""
    return capture.by_name or capture.trace is not None or not part.only_named


def in_order(found: list[Capture]) -> list[Capture]:
    """Return the captures as they are tried: with a name asked for first, the latest first."""
    latest = [*found][::-1]
    latest.sort(key=lambda capture: not capture.by_name)
    return latest


def candidate_limit(part: PartTable) -> int:
    """Return how many candidates of a part are run."""
    return PYTHON_LIMIT if part.entry_kind == "python" else CANDIDATE_LIMIT


def inspect(part: PartTable, capture: Capture) -> Candidate | Problem:
    """Read a capture. A finding of the allow-list, or a graph that cannot be read, is a problem."""
    if part.entry_kind == "python":
        return _inspect_python(capture)
    names = [name for name in capture.externs if _EXTERN_NAME.fullmatch(name)]
    permitted = tuple(names) if part.externs else ()
    try:
        module, facts, left_out = _read(capture.module, permitted)
        started = None if capture.base is None else _read(capture.base)
    except IRError as error:
        return Problem(error.message, error.hint, code="refused")
    if facts.findings:
        first = facts.findings[0]
        is_unknown = first.subject not in capture.externs and _EXTERN_NAME.fullmatch(first.subject)
        if part.externs and first.code == "packed_call" and is_unknown:
            return _not_registered(first.subject)
        return Problem(
            first.message,
            say(
                "Modules may use TensorIR, Relax and arithmetic, and no other way out of"
                " the module."
            ),
            code="refused",
        )
    capture = replace(capture, module=module, base=started and started.document)
    base = None if started is None or started.facts.findings else started.facts
    return Candidate(capture, facts, base, left_out)


class _Module(NamedTuple):
    document: bytes
    facts: ModuleFacts
    left_out: tuple[str, ...] = ()


def _read(document: bytes, externs: tuple[str, ...] = ()) -> _Module:
    """Read a module, without attributes of functions that mean nothing. Raises IRError."""
    facts = read_module(document, externs)
    if any(finding.code == "attribute" for finding in facts.findings):
        cleaned, left_out = without_idle_attributes(document)
        return _Module(cleaned, read_module(cleaned, externs), left_out)
    return _Module(document, facts)


def is_given(candidate: Candidate, comparison: Comparison, given: Given) -> bool:
    """Say whether a module is one that the assignment gives, by whatever name it goes.

    So is one whose schedule started there: a step more makes it no work of one's own.
    """
    by_name = candidate.capture.by_name
    modules = [candidate.facts] if candidate.base is None else [candidate.facts, candidate.base]
    return any(
        forms and all(given.refuses(form, by_name=by_name) for form in forms)
        for facts in modules
        for forms in _forms_of(facts, comparison)
    )


def _forms_of(facts: ModuleFacts, comparison: Comparison) -> list[set[str]]:
    """Return the forms of what answers: of `main`, or of the function that computes it.

    A `main` that does nothing but call functions that are given is no other answer to a part that
    asks for a function.
    """
    if not isinstance(comparison, Computation):
        return [{facts.form}] if facts.has_main else []
    if not facts.has_main:
        found = find_function(facts, comparison)
        answering = facts.functions.values() if found is None else (found,)
        return [{each.form for each in answering}]
    if any(each.kind != "tir" for each in facts.calls):
        return [{facts.form}]
    called = {each.callee for each in facts.calls} & facts.functions.keys()
    return [{facts.form}, {facts.functions[name].form for name in called}]


def _not_registered(name: str) -> Problem:
    """Say that a part which may call external functions calls one that the notebook lacks.

    The name is one that a function can be registered by: letters, digits, dots and hyphens.
    """
    return Problem(
        say(
            "The module calls the external function `{name}`, and the notebook registers none of"
            " that name.",
            name=name,
        ),
        say(
            'Register it before the module is built: @tvm.register_global_func("{name}") above the'
            " function. Names that TVM itself has are not taken.",
            name=name,
        ),
        code="refused",
    )


def _inspect_python(capture: Capture) -> Candidate | Problem:
    """Take a capture of a Python function: there is no module to read."""
    if capture.module or list(capture.externs) != [PYTHON_FUNCTION]:
        return Problem(
            say("The function could not be taken over."),
            say("Define it in a cell of its own."),
            code="not_captured",
        )
    nothing = ModuleFacts(
        has_main=False, inputs=(), output=None, calls=(), functions={}, externs=(), findings=()
    )
    return Candidate(capture, nothing)
