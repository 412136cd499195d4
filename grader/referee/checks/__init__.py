"""The checks. Importing this package registers all of them."""

from grader.referee.checks import equivalence, externs, graph, schedule, speed, structure

__all__ = ["equivalence", "externs", "graph", "schedule", "speed", "structure"]
