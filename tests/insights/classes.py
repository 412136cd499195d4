"""Classes of made-up students with known mistakes, as the figures and their page get them."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import NamedTuple, get_args

from msgspec.structs import replace

from grader.insights.figures import Insights, insights_of
from grader.insights.observation import Observation, Person, ReportedAttempt, observe
from grader.language import foreign
from grader.report import CellProblem, MistakeKind, Report
from tests import sample_reports
from tests.render.html.samples import CELLS, DIAGNOSIS, everything

MONDAY = datetime(2026, 11, 30, 8, tzinfo=timezone.utc)
FAILED = CellProblem(2, "NameError", "name 'conv_w' is not defined", 3)


class Planted(NamedTuple):
    """A class, and how many of it made which mistake and failed by which error."""

    seen: tuple[Observation, ...]
    mistakes: Counter[str]
    errors: Counter[str]

    @property
    def insights(self) -> Insights:
        missing = (Person("zoe", "Zoe Absent"),)
        return insights_of("e2e-conv", "gradebook", self.seen, missing)


def report(mistake: str = "", error: str = "", score: float | None = None) -> Report:
    """Return a report with a mistake in two parts, an error of a cell, or full marks."""
    found = everything() if mistake else sample_reports.full_marks()
    problems = (replace(FAILED, error=error),) if error else ()
    found = replace(found, cells=CELLS, problems=problems)
    if mistake:
        told = replace(DIAGNOSIS, mistake=mistake, message=foreign(f"Here is a {mistake}."))
        parts = tuple(replace(part, diagnosis=told) for part in found.parts[:2])
        found = replace(found, parts=(*parts, *found.parts[2:]))
    return found if score is None else replace(found, score=score)


def made(students: int, seed: int = 0) -> Planted:
    """Return a class of which two thirds make a mistake, and a fifth fail in a cell."""
    draw = random.Random(seed)
    kinds = draw.sample(get_args(MistakeKind), 9)
    mistakes: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    seen = []
    for number in range(students):
        mistake = draw.choice(kinds) if draw.random() < 0.67 else ""
        error = draw.choice(["NameError", "TypeError"]) if draw.random() < 0.2 else ""
        mistakes[mistake] += bool(mistake)
        errors[error] += bool(error)
        score = float(draw.randrange(20, 90)) if mistake else 100.0
        own = timed(report(mistake, error, score), draw.lognormvariate(0, 0.4))
        person = Person(f"u{number:04}", f"Student {number}", f"e2e-conv/u{number:04}.html", "A")
        given = MONDAY + timedelta(hours=draw.randrange(200))
        attempts = tuple(
            ReportedAttempt(n + 1, given + timedelta(days=n), (score - 10 + 10 * n,), 100.0)
            for n in range(draw.randrange(1, 4))
        )
        seen.append(observe(own, person, attempts=attempts, passing=50))
    return Planted(tuple(seen), mistakes, errors)


def timed(report: Report, factor: float) -> Report:
    """Return a report whose schedule is so many times as fast."""
    timing = sample_reports.TIMING
    names = ("speedup", "ci_low", "ci_high")
    faster = {name: getattr(timing, name) * factor for name in names}
    return replace(report, timing=replace(timing, **faster))
