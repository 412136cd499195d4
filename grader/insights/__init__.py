"""What a class did: figures of many reports, each of which leads to the students behind it."""

from grader.insights.figures import Insights, insights_of
from grader.insights.observation import (
    Observation,
    Person,
    ReportedAttempt,
    best_of,
    observe,
    unobserved,
)

__all__ = [
    "Insights",
    "Observation",
    "Person",
    "ReportedAttempt",
    "best_of",
    "insights_of",
    "observe",
    "unobserved",
]
