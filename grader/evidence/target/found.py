"""What is found of a schedule beside the target."""

from dataclasses import dataclass

from grader.evidence.plug import Gathered
from grader.ir.facts import FunctionFacts


@dataclass(frozen=True)
class TargetMatch:
    """Whether a scheduled function is the exercise's target, as TVM says, and both functions.

    `place` is where TVM finds the first difference; empty when there is none.
    """

    equal: bool
    place: str
    wanted: FunctionFacts
    found: FunctionFacts


TARGET = Gathered[TargetMatch]("target")
