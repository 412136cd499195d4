"""stub"""
from __future__ import annotations
from grader.ir.expressions import Budget
from grader.ir.facts import Finding
from grader.ir.graph import Graph
def find_out_of_bounds(graph: Graph, functions: dict[str, int], budget: Budget) -> tuple[Finding, ...]:
    return ()
