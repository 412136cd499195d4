"""A mutant made by hand."""

from __future__ import annotations

from typing import Any

from grader.assignment import PartTable
from grader.evidence.case import Candidate
from grader.ir.facts import ModuleFacts
from grader.messages.kernel import Capture
from grader.messages.runner import Mutation
from tests.accuracy.accuracy import Mistaken

PART = PartTable(id="model", title="", entry_kind="module", entry=("f",), check=())
NOTHING = ModuleFacts(True, (), None, (), {}, (), ())


def mistaken(kind: Any, binding: str) -> Mistaken:
    """Return a mutant of some kind that departs at a binding."""
    candidate = Candidate(Capture("model", "f", 1, True, b"{}"), NOTHING)
    return Mistaken(PART, Mutation(kind, "f", binding, "something is changed"), candidate)
