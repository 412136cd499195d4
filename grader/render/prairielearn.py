"""The report as PrairieLearn's `results.json`, which an external grader writes.

The format is that of https://docs.prairielearn.com/externalGrading/ and of its element
`pl-external-grader-results`, which shows names as text, and makes HTML of messages and output as a
terminal would: it escapes them, so all of it is plain text here. The score is a share of the
points. A submission that could not be graded costs the student no attempt.
"""

from collections.abc import Iterator

import msgspec

from grader.files import indented_json
from grader.render import wording
from grader.render.findings import cells_run, explanation, is_graded, is_lost, place_of, titled
from grader.render.speech import speaking
from grader.report import Report

MOST_BYTES = 10**6
"""PrairieLearn refuses results of more than 1 MB."""

_CUTS = (wording.LONGEST_TEXT, 400, 40)
"""How many characters of a text are shown: the first of these with which all fits."""


class PrairieLearnCase(msgspec.Struct, frozen=True):
    """A check."""

    name: str
    points: float
    max_points: float
    message: str


class Results(msgspec.Struct, frozen=True, omit_defaults=True):
    """What PrairieLearn reads. `score` is from 0 to 1, of all that students see."""

    gradable: bool
    score: float
    output: str
    tests: tuple[PrairieLearnCase, ...] = ()
    format_errors: tuple[str, ...] = ()


def render_prairielearn(report: Report) -> bytes:
    """Return a report as results.json, of at most 1 MB and in the report's own language."""
    made = (_rendered(report, characters) for characters in _CUTS)
    return next((each for each in made if len(each) <= MOST_BYTES), _rendered(report, 1))


def _rendered(report: Report, characters: int) -> bytes:
    with speaking(report.language):
        tests, output = tuple(_tests(report, characters)), _output(report, characters)
        notes = tuple(wording.plain(each, characters) for each in report.notes)
    most = sum(each.max_points for each in tests)
    graded = is_graded(report) and most > 0  # where all is hidden, 0 would be a wrong score
    share = sum(each.points for each in tests) / most if graded else 0.0
    errors = () if graded else notes
    results = Results(graded, round(min(max(share, 0.0), 1.0), 6), output, tests, errors)
    return indented_json(results)


def _tests(report: Report, characters: int) -> Iterator[PrairieLearnCase]:
    for part in report.parts:
        for check in part.checks:
            said = "\n".join(explanation(part, check, report)) if is_lost(check) else ""
            message = wording.plain(said, characters)
            yield PrairieLearnCase(titled(part, check), check.score, check.max_score, message)


def _output(report: Report, characters: int) -> str:
    """Return what is said of the whole: how many cells ran, which did not, and notes."""
    left = [wording.not_marked(report.open)] if report.open else []
    told = [cells_run(report.submission), *left, *map(wording.plain, report.notes)]
    for problem in report.problems[: wording.MOST_PROBLEMS]:
        said = wording.plain(problem.message, characters) or wording.one_line(problem.error)
        told += [f"{place_of(problem, report)}: {said}", wording.plain(problem.hint)]
    return "\n".join(filter(None, (*told, wording.more_problems(report))))
