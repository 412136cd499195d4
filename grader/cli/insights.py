"""`grader insights`: what a class got wrong, as a page, JSON and CSV for each assignment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace
from rich.console import Console

from grader import __version__
from grader.batch.collect import name_reports
from grader.cli.class_reports import STATES, ClassOptions, StudentWork, open_class
from grader.cli.ending import command_language
from grader.cli.telling import students, tell
from grader.errors import UsageError
from grader.files import write_whole, writing
from grader.insights.exports import encode_insights, insights_table
from grader.insights.figures import Insights, insights_of
from grader.insights.observation import Observation, Person, best_of, observe, unobserved
from grader.language import say
from grader.render.html import render_html
from grader.render.html.charts import names_on_page
from grader.render.html.class_page import render_insights
from grader.render.wording import MISTAKE_NAMES
from grader.report import utc_now


def run_insights(
    found: ClassOptions,
    output: Path,
    console: Console,
    language: str | None = None,
    passing: float | None = None,
    *,
    pages: bool = True,
) -> None:
    """Write the documents of each assignment, and say what is in them.

    Raises UsageError where there is nothing to look at, or nothing can be written.
    """
    language = language or command_language()
    every = class_insights(found, passing, StudentPages(output, found.reports, write=pages))
    made = say("made-by-grader", time=utc_now().isoformat(" ", "seconds"), version=__version__)
    with writing(output, say("what-class-got-wrong")):
        for slug, insights in every.items():
            page = output / f"{slug}.html"
            write_whole(page, render_insights(insights, language, made.in_(language)))
            write_whole(output / f"{slug}.json", encode_insights(insights, language))
            write_whole(output / f"{slug}.csv", insights_table(insights, language))
            _tell(console, insights, page)


def class_insights(
    found: ClassOptions, passing: float | None = None, pages: StudentPages | None = None
) -> dict[str, Insights]:
    """Return the figures of assignments, by slug; `pages` writes each student's on the way.

    Reports are read one after the other, and none is kept. Raises UsageError where nothing is
    graded.
    """
    seen: dict[str, dict[str, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    nobodys: list[Observation] = []
    with open_class(found) as opened:
        called = names_of(opened.people)
        for work in opened.works:
            each = _observed(work, passing, pages, called.get(work.person.id, ""))
            if work.slug:
                seen[work.slug][work.person.id].append(each)
            else:
                nobodys.append(each)
        if not seen:
            raise UsageError(
                say("there-no-report-look"), say("grade-class-first-grader-batch-folder-output")
            )
        return {
            slug: insights_of(
                slug,
                opened.source,
                [*map(best_of, own.values()), *(e for e in nobodys if e.person.id not in own)],
                opened.missing.get(slug, ()),
                opened.objections.get(slug, ()),
            )
            for slug, own in sorted(seen.items())
        }


def names_of(people: Iterable[Person]) -> dict[str, str]:
    """Return what students' pages call them, by their ids: what the page of the class does."""
    return names_on_page({each.id: each.name for each in people})


def _observed(
    work: StudentWork, passing: float | None, pages: StudentPages | None, called: str
) -> Observation:
    person = work.person
    if pages is not None:
        person = replace(person, page=pages.page_of(work, called))
    if work.report is None:
        return unobserved(person, work.why, work.attempts)
    parts = () if work.final is None else work.final.parts
    return observe(
        work.report,
        person,
        points=work.points,
        possible=work.possible,
        attempts=work.attempts,
        passing=passing,
        marked={each.id for each in parts if each.is_marked},
    )


class StudentPages:
    """Writes students' pages into a folder beside the class's, or finds those that are there."""

    def __init__(self, output: Path, reports: Path | None, *, write: bool) -> None:
        """`reports` is the folder that the reports are in, None where a gradebook has them."""
        self._output, self._reports, self._write = output, reports, write
        with writing(output, say("pages")):
            output.mkdir(parents=True, exist_ok=True)

    def page_of(self, work: StudentWork, called: str) -> str:
        """Return the address of a student's page below the output; empty where there is none.

        `called` is what the class's page calls the student, empty where nobody knows a name.
        """
        beside = None if work.file is None else work.file.with_suffix(".html")
        if beside is not None and beside.is_file():
            return self._address(beside)
        if not self._write or work.report is None:
            return ""
        key = work.person.id
        if work.file is not None and self._reports is not None:
            key = work.file.relative_to(self._reports).with_suffix("").as_posix()
        (name,) = name_reports([key]).values()
        path = self._output / work.slug / f"{name}.html"
        page = render_html(work.report, called or key, work.number, work.final)
        with writing(path, say("pages")):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, page)
        return self._address(path)

    def _address(self, path: Path) -> str:
        """Return a relative address: the folder may be moved, with what lies in it."""
        here, there = self._output.resolve(), path.resolve()
        up = 0
        while not there.is_relative_to(here):
            here, up = here.parent, up + 1
        return "../" * up + quote(there.relative_to(here).as_posix())


SHOWN = 3
"""So many mistakes are named on the terminal; the page has them all."""


def _tell(console: Console, insights: Insights, page: Path) -> None:
    graded = insights.graded
    tell(
        console,
        say(
            "graded-look-at",
            slug=insights.assignment,
            students=students(graded),
            looks=len(insights.concerns),
        ),
    )
    for row in insights.mistakes[:SHOWN]:
        line = say(
            "count-graded-mistake",
            count=len(row.students),
            graded=graded,
            mistake=MISTAKE_NAMES[row.mistake],
        )
        tell(console, line)
    if insights.objections:
        counts = Counter[str]()
        for asked in insights.objections:
            counts[asked.state] += asked.count
        told = {state: counts[state] for state in STATES}
        tell(console, say("objections-open-answered-with-points-moved", **told))
    tell(console, say("written-title", path=str(page)))
