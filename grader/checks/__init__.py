"""What a course's own `checks.py` is written with (docs/authoring.md).

from grader.checks import Case, Outcome, Table, check, failed, passed
"""

from grader.assignment import Table
from grader.evidence.case import Case, Evidence, Outputs, Problem
from grader.evidence.registry import NoOptions, Outcome, check, failed, not_graded, partial, passed
from grader.evidence.subject import find_function
from grader.ir.facts import Block, Expression, FunctionFacts, ModuleFacts, Store

__all__ = [
    "Block",
    "Case",
    "Evidence",
    "Expression",
    "FunctionFacts",
    "ModuleFacts",
    "NoOptions",
    "Outcome",
    "Outputs",
    "Problem",
    "Store",
    "Table",
    "check",
    "failed",
    "find_function",
    "not_graded",
    "partial",
    "passed",
]
