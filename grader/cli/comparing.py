"""`grader leaderboard` and `grader similar`: the works of a class beside one another."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec.structs import replace
from rich.console import Console

from grader import __version__
from grader.cli.class_reports import ClassOptions, open_class
from grader.cli.ending import command_language
from grader.cli.insights import StudentPages, names_of
from grader.cli.telling import some_of, tell
from grader.course_folder import course_folder
from grader.errors import UsageError
from grader.files import indented_json, read_named, write_whole, writing
from grader.grading.preparation import handout_cells
from grader.insights.exports import leaderboard, made_up
from grader.insights.observation import Speed, speed_of
from grader.language import NOTHING, Text, say
from grader.reading.documents import migrate_document
from grader.render.audience import shown
from grader.render.html.class_works import leaderboard_markdown, render_leaderboard, render_similar
from grader.report import utc_now
from grader.similarity.fragments import Writing, given_keys, writing_of
from grader.similarity.pairs import Similarities, compare
from grader.tables import read_table, write_table

_STUDENT, _NAME = "student", "name"


def run_leaderboard(
    found: ClassOptions,
    output: Path,
    consent: Path,
    console: Console,
    machine: str = "",
    language: str | None = None,
) -> None:
    """Write page, Markdown and JSON for each assignment that times schedules.

    Raises UsageError where nobody in the file was measured, or nothing can be written.
    """
    names = read_consent(consent)
    language = language or command_language()
    speeds, titles = _speeds(found, utc_now())
    boards = [leaderboard(slug, own, names, machine) for slug, own in speeds.items()]
    known = [each for each in boards if each is not None]
    if not known:
        raise UsageError(
            say("nobody-who-opted-in-measured"),
            say("each-line-stands-for-student-who-opted", file=str(consent)),
        )
    made = say("made-by-grader", time=utc_now().date().isoformat(), version=__version__)
    for board in known:
        slug, title = board.assignment, titles[board.assignment]
        path = output / f"{slug}-leaderboard.html"
        with writing(output, say("the-leaderboard")):
            output.mkdir(parents=True, exist_ok=True)
            write_whole(path, render_leaderboard(board, title, language, made.in_(language)))
            write_whole(path.with_suffix(".md"), leaderboard_markdown(board, title, language))
            write_whole(path.with_suffix(".json"), indented_json(board))
        tell(console, say("written-title", path=str(path)))
        measured = {student for student, _ in speeds[slug]}
        if absent := [each for each in names if each not in measured]:
            unmeasured = some_of(absent, _SHOWN)
            told = say(
                "opted-in-without-measured-schedule", slug=slug, count=len(absent), names=unmeasured
            )
            tell(console, told)


def read_consent(path: Path) -> dict[str, str]:
    """Return the names under which students want to be seen, by their ids.

    Who has chosen none gets one that is made up, and written into the file, so that it stays.
    Raises UsageError for what is no such table, and where two have one name.
    """
    table = read_table(path)
    header = [each.strip().casefold() for each in table.header]
    if _STUDENT not in header or _NAME not in header:
        raise UsageError(
            say("has-no-columns-student-and-name", file=path.name),
            say("write-line-for-each-student-who-opted"),
        )
    student, name = header.index(_STUDENT), header.index(_NAME)
    taken = {row[name].strip() for row in table.rows}
    fresh = False
    for row in table.rows:
        if not row[name].strip():
            row[name] = made_up(taken)
            taken.add(row[name])
            fresh = True
    if fresh:
        with writing(path, say("invented-names")):
            write_whole(path, write_table(table.header, table.rows))
    names = {row[student].strip(): row[name].strip() for row in table.rows}
    if len({*names.values()}) < len(names):
        raise UsageError(
            say("two-students-in-have-same-name", file=path.name),
            say("ask-one-them-for-different-one"),
        )
    return names


def _speeds(
    found: ClassOptions, now: datetime
) -> tuple[dict[str, list[tuple[str, Speed]]], dict[str, Text]]:
    """Return what was measured of all attempts, as far as students may see it today."""
    speeds: dict[str, list[tuple[str, Speed]]] = defaultdict(list)
    titles: dict[str, Text] = defaultdict(lambda: NOTHING)
    with open_class(found) as opened:
        for work in opened.works:
            if work.report is None:
                continue
            report = shown(work.report, "student", now)
            speed = speed_of(report)
            titles[work.slug] = report.assignment.title
            if speed is not None:
                speeds[work.slug].append((work.person.id, speed))
    return speeds, titles


# `grader similar`: which works are alike beyond what was given, as a page and JSON.


class SimilarOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader similar`, as they were given."""

    found: ClassOptions
    output: Path
    given: tuple[Path, ...] = ()
    least: float = 0.5
    language: str | None = None
    pages: bool = True


def run_similar(options: SimilarOptions, console: Console) -> None:
    """Write a page and JSON for each assignment, and say how many pairs there are.

    Raises UsageError where there is nothing to compare, or nothing can be written.
    """
    language = options.language or command_language()
    made = say("made-by-grader", time=utc_now().isoformat(" ", "seconds"), version=__version__).in_(
        language
    )
    every = _writings(options.found)
    pairs = {
        slug: compare(slug, writings, _given(options, slug), options.least)
        for slug, writings in every.items()
    }
    pages = _pages(options, pairs)
    for slug, found in pairs.items():
        known = {e.id: replace(e, page=pages.get((slug, e.id), "")) for e in every[slug]}
        page = render_similar(found, known, language, made)
        path = options.output / f"{slug}-similar.html"
        with writing(options.output, say("similar-parts")):
            options.output.mkdir(parents=True, exist_ok=True)
            write_whole(path, page)
            write_whole(path.with_suffix(".json"), indented_json(found))
        _tell(console, found, path)


def _writings(found: ClassOptions) -> dict[str, list[Writing]]:
    """Return what students wrote, by assignments; all of a student's reports are one work."""
    every: dict[str, dict[str, Writing]] = defaultdict(dict)
    with open_class(found) as opened:
        for work in opened.works:
            report, person = work.report, work.person
            if report is None:
                continue
            each = writing_of(person.id, person.name, "", report.cells, report.parts)
            before = every[work.slug].get(person.id)
            every[work.slug][person.id] = each if before is None else _together(before, each)
    if not every:
        raise UsageError(
            say("there-no-report-look"), say("grade-class-first-grader-batch-folder-output")
        )
    return {slug: [*own.values()] for slug, own in sorted(every.items())}


def _pages(
    options: SimilarOptions, pairs: Mapping[str, Similarities]
) -> dict[tuple[str, str], str]:
    """Return the addresses of the pages of who is in a pair, by assignment and student.

    They are written, as those of `grader insights` are: for a class that is alike in nothing, none.
    """
    wanted = {
        (slug, id)
        for slug, found in pairs.items()
        for each in found.pairs
        for id in (each.one, each.other)
    }
    if not wanted:
        return {}
    pages = StudentPages(options.output, options.found.reports, write=options.pages)
    with open_class(options.found) as opened:
        called = names_of(opened.people)
        return {
            key: pages.page_of(work, called.get(work.person.id, ""))
            for work in opened.works
            if (key := (work.slug, work.person.id)) in wanted
        }


def _together(one: Writing, other: Writing) -> Writing:
    """Return two reports of a student as one work: nobody copies from themselves."""
    cells = len(one.sources)
    moved = (e._replace(cell=e.cell + cells if e.cell >= 0 else -1) for e in other.fragments)
    return replace(
        one,
        sources=one.sources + other.sources,
        numbers=one.numbers + other.numbers,
        fragments=(*one.fragments, *moved),
    )


def _given(options: SimilarOptions, slug: str) -> frozenset[int]:
    """Return the fragments of the course's templates, and of the texts that were named."""
    root = course_folder(options.found.course, (Path.cwd(),))
    own = given_keys(handout_cells(root / "assignments" / slug))
    return own.union(*(given_keys(_sources(path)) for path in options.given))


def _sources(path: Path) -> tuple[str, ...]:
    """Return the cells of a text, as they are and in today's spelling of TVM's names."""
    document = migrate_document(read_named(path), path.suffix)
    return (*document.before, *document.migration.sources)


_SHOWN = 10
"""So many names are printed; the JSON has all of them."""


def _tell(console: Console, found: Similarities, page: Path) -> None:
    if found.left_out:
        left_out = say(
            "works-could-not-compared-because-they-contain",
            slug=found.assignment,
            count=len(found.left_out),
            names=some_of(found.left_out, _SHOWN),
        )
        tell(console, left_out)
    tell(
        console,
        say(
            "works-similar-pairs-this-evidence-not-verdict",
            slug=found.assignment,
            pairs=len(found.pairs),
            works=found.works,
        ),
        say("written-title", path=str(page)),
    )
