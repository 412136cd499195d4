"""What `grader sync` does: fetch a class, plan and push its grades, and tell."""

import os
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import typer
from rich.console import Console
from rich.text import Text as Styled

from grader.cli.gradebook import course_here, open_book, whoever
from grader.cli.lms import list_some, print_collected
from grader.cli.student_grades import counting_reports, known_rules, plain_table
from grader.cli.telling import shown_progress, tell, words
from grader.course import load_course
from grader.course_settings import SETTINGS_FILE, LtiSettings, load_settings
from grader.errors import LmsError, UsageError
from grader.gradebook.entries import RosterEntry, Student, show
from grader.gradebook.grades import Grade
from grader.language import LANGUAGES, Text, say
from grader.lateness import NONE
from grader.lms.choices import PLATFORM_NAMES, Key, OwnApi, Platform
from grader.lms.collect import CollectedStudent, read_manifest
from grader.lms.handback import GradedWork, page_digest, student_page
from grader.lms.roster import keys_of, read_roster
from grader.lms.sync.fetch import (
    ROSTER,
    USER_COLUMNS,
    Fetched,
    collected_users,
    fetch_class,
    fetch_students,
)
from grader.lms.sync.journal import Journal, open_journal
from grader.lms.sync.platform import COMMENT, LmsAssignment, LmsGrades, PushedGrade, parts_comment
from grader.lms.sync.push import (
    Lack,
    Row,
    Verdict,
    Wanted,
    plan,
    push,
    ratings_of,
    scaled,
    unconfirmed,
)
from grader.lms.sync.session import Sleep
from grader.lms.sync.source import (
    SOURCE,
    Source,
    address,
    connected,
    connected_tool,
    public_key,
    read_source,
)
from grader.render.audience import shown
from grader.render.wording import one_line
from grader.report import Report, utc_now
from grader.tables import as_before_harmless

_KEY_DIGITS = 16

_REASONS: dict[Verdict | Lack, Text] = {
    "excused": say("excused-there"),
    "entered": say("another-grade-entered-there"),
    "removed": say("grade-removed-there"),
    "remarks": say("somebody-wrote-comment-or-attached-file-there"),
    "rated": say("somebody-used-rubric-there"),
    "gone": say("not-in-course-there"),
    "ungraded": say("no-grade"),
    "unsettled": say("graded-again"),
    "unmarked": say("not-marked-by-hand-yet"),
    "unmatched": say("not-matched-user-there"),
}
_OVERWRITTEN = frozenset({"entered", "removed", "remarks", "rated"})


class FetchOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader sync PLATFORM fetch`, as they were given."""

    platform: OwnApi
    url: str
    output: Path
    roster: Path | None = None
    extend: str | None = None
    course: Path | None = None


class PushOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader sync PLATFORM push`, as they were given.

    `pages` says whether students are told more than points; by LTI in the comment alone.
    """

    platform: Platform
    folder: Path
    slug: str
    dry_run: bool = False
    yes: bool = False
    overwrite: bool = False
    pages: bool = True
    language: str = "en"
    course: Path | None = None
    column: str | None = None


def run_fetch(
    options: FetchOptions,
    output: Console,
    environment: Mapping[str, str] = os.environ,
    sleep: Sleep = time.sleep,
) -> bool:
    """Fetch and say what was done. Returns whether everything was somebody's and was taken."""
    url = address(options.platform, options.url)
    roster = None if options.roster is None else read_roster(options.roster)
    with (
        connected(options.platform, url, environment, sleep) as platform,
        shown_progress() as progress,
    ):
        fetched = fetch_class(platform, url, options.output, progress, roster)
    if options.extend is not None:
        _extend(fetched, options.extend, options.course, output)
    _tell_source(fetched, options, output)
    told = (PLATFORM_NAMES[options.platform], options.extend or "")
    return print_collected(fetched.outcome, options.output, output, *told, options.course)


def _tell_source(fetched: Fetched, options: FetchOptions, output: Console) -> None:
    """Tell of due dates and of who is excused, and what may be done with them."""
    source = fetched.source
    if source.due is not None:
        tell(output, say("due-there", time=_minutes(source.due)))
    list_some(output, say("another-due-date-there"), [*fetched.due_dates])
    if fetched.due_dates and options.extend is None:
        tell(output, say("record-them-in-gradebook", option="--extend SLUG"))
    list_some(output, say("excused-there-sentence"), fetched.excused)
    if options.roster is None:
        command = f"grader roster import {options.output / ROSTER}"
        tell(output, say("students-title", command=command))


def _minutes(due: datetime) -> str:
    return due.isoformat(" ", "minutes")


def _extend(fetched: Fetched, slug: str, course: Path | None, output: Console) -> None:
    """Record students' own due dates in the gradebook, those that it does not have yet."""
    reason = f"due date in {PLATFORM_NAMES[fetched.source.platform]}"
    extended, unknown = [], []
    with open_book(course) as book:
        rules = book.rules().get(slug)
        if rules is None:
            raise UsageError(
                say("gradebook-has-no-assignment", slug=repr(slug)),
                say("see", command="grader course init"),
            )
        due, theirs = rules.due, fetched.source.due
        if theirs is not None and due != theirs:
            here = say("none") if due is None else _minutes(due)
            told = say("due-dates-differ", slug=slug, here=here, there=_minutes(theirs))
            tell(output, told)
        students = {each.login: each for each in book.students()}
        accounts = book.accounts()
        for login, due in sorted(fetched.due_dates.items()):
            student = students.get(login)
            if student is None:
                unknown.append(login)
                continue
            account = accounts.get(student.id, {}).get(slug)
            held = None if account is None else account.extension
            if held is None or held.due != due:
                book.extend(student.id, slug, due, reason=reason, who=whoever())
                extended.append(login)
    list_some(output, say("extended-in-gradebook"), extended)
    list_some(output, say("not-in-gradebooks-roster"), unknown)


class _Account(NamedTuple):
    options: PushOptions
    key: Key
    assignment: LmsAssignment
    most: Decimal
    students: tuple[CollectedStudent, ...]
    users: Mapping[str, set[str]]
    now: datetime
    ask_at: str = ""


def run_push(
    options: PushOptions,
    output: Console,
    environment: Mapping[str, str] = os.environ,
    sleep: Sleep = time.sleep,
    ask: Callable[[Text], bool] | None = None,
) -> bool:
    """Plan, tell, ask and push. Returns whether everybody's grade stands there."""
    source = _source(options)
    with (
        open_journal(options.folder) as journal,
        _connected(options, source, environment, sleep) as platform,
        counting_reports(options.slug, options.course, output) as graded,
    ):
        assignment = platform.assignment()
        account = _account(options, platform, assignment, utc_now())
        wanted = [_wanted(account, *each) for each in graded]
        rows = plan(platform, wanted, journal, overwrite=options.overwrite)
        _print_plan(rows, assignment, account, output)
        _tell_absent(options, [student for student, _, _ in graded], output)
        told = zip(rows, graded, strict=True)
        _tell_scale((grade for row, (_, grade, _) in told if row.wanted.grade), account, output)
        skipped = [row for row in rows if row.verdict not in ("write", "same", "excused")]
        count = sum(row.verdict == "write" for row in rows)
        if options.dry_run or not count:
            tell(output, say("nothing-written"))
            return not skipped and not (options.dry_run and count)
        if not (options.yes or (ask or _ask)(say("write-grades", count=count))):
            tell(output, say("nothing-written"))
            return False
        late = _write(platform, rows, journal, sleep, options, output)
    return not (skipped or late)


@contextmanager
def _connected(
    options: PushOptions, source: Source, environment: Mapping[str, str], sleep: Sleep
) -> Iterator[LmsGrades]:
    if options.platform != "lti":
        with connected(options.platform, source.url, environment, sleep) as own:
            yield own
        return
    from grader.lms.sync.lti import Column

    root = course_here(options.course)[0]
    settings = _tool(root)
    if settings.line_items != source.url:
        raise UsageError(
            say("has-class", folder=str(options.folder), url=source.url),
            say("name-another-folder-with-output"),
        )
    with open_book(options.course) as book:
        rules = known_rules(book, options.slug)
    column = Column(options.slug, _title(root, options.slug), rules.points, options.column)
    inside = (root, options.folder)
    with connected_tool(settings, environment, inside, sleep, column=column) as platform:
        yield platform


def _tool(root: Path) -> LtiSettings:
    """Return the tool's registration. Raises UsageError where there is none."""
    settings = load_settings(root).lti
    if settings is None:
        raise UsageError(
            say("course-toml-has-no-lti", file=str(root / SETTINGS_FILE)),
            say("see-docs-collecting-md"),
        )
    return settings


def _title(root: Path, slug: str) -> str:
    """Return what a column is called: in English, whoever pushes."""
    return one_line(load_course(root).get(slug).assignment.named.english)


def run_fetch_students(
    folder: Path,
    own: Path | None,
    course: Path | None,
    output: Console,
    environment: Mapping[str, str] = os.environ,
    sleep: Sleep = time.sleep,
) -> bool:
    """Fetch the students by LTI, and say what to do with them. Returns whether all are known."""
    root = course_here(course)[0]
    settings = _tool(root)
    roster = None if own is None else read_roster(own)
    with (
        connected_tool(settings, environment, (root, folder), sleep) as platform,
        shown_progress() as progress,
    ):
        found = fetch_students(platform, settings.line_items, folder, progress, roster)
    tell(output, say("students-there", count=len(found.people)))
    list_some(output, say("not-matched-roster"), list(found.unmatched))
    command = f"grader roster import {folder / ROSTER}"
    tell(output, say("students-title", command=command))
    return not found.unmatched


def print_public_key(
    course: Path | None, output: Console, environment: Mapping[str, str] = os.environ
) -> None:
    """Print the tool's public key as a set of JWKs, for the registration."""
    root = course_here(course)[0]
    settings = _tool(root)
    public = public_key(settings, environment, (root,))
    output.print_json(msgspec.json.encode({"keys": [public]}).decode())


def _source(options: PushOptions) -> Source:
    """Return where a folder came from. Raises UsageError."""
    source = read_source(options.folder)
    if source is not None and source.platform == options.platform:
        return source
    told = {"folder": str(options.folder), "platform": PLATFORM_NAMES[options.platform]}
    fault = say("not-fetched-from-has", **told, file=SOURCE)
    if source is not None:
        fault = say("fetched-from-another", **told, other=PLATFORM_NAMES[source.platform])
    raise UsageError(fault, say("name-output-grader-sync-fetch", platform=options.platform))


def _account(
    options: PushOptions, platform: LmsGrades, assignment: LmsAssignment, now: datetime
) -> _Account:
    if assignment.points is None:
        raise UsageError(
            say("not-graded-by-points-there", name=assignment.name),
            say("choose-points-in-assignments-settings-moodles-rubrics"),
        )
    students = read_manifest(options.folder).students
    users = collected_users(students, platform.key)
    with open_book(options.course) as book:
        for each in book.students():
            own = as_before_harmless(
                keys_of(RosterEntry(each.login, {}, each.lms, "")).get(platform.key, "")
            )
            if each.login not in users and own:
                users[each.login] = {own}
    shared = _shared(users)
    return _Account(
        options,
        platform.key,
        assignment,
        assignment.points,
        students,
        {login: found - shared for login, found in users.items()},
        now,
        load_settings(course_here(options.course)[0]).objections.address,
    )


def _shared(users: Mapping[str, set[str]]) -> set[str]:
    """Return users who would be two students: a grade is pushed to neither."""
    seen: set[str] = set()
    shared: set[str] = set()
    for found in users.values():
        shared |= seen & found
        seen |= found
    return shared


def _wanted(
    account: _Account, student: Student, grade: Grade, read: Callable[[], Report] | None
) -> Wanted:
    users = account.users.get(student.login, set())
    user = next(iter(users)) if len(users) == 1 else None
    lack: Lack | None = None
    if grade.points is None or read is None:
        lack = "ungraded"
    elif not grade.settled:
        lack = "unsettled"
    elif grade.open:
        lack = "unmarked"
    elif user is None:
        lack = "unmatched"
    if lack is not None or read is None:
        return Wanted(student.login, user, None, bytes, lack)
    theirs = next((e for e in account.students if student.login == e.id), None)
    told = (student.login, read, theirs, grade.attempt, student.name, grade.final)
    work = GradedWork(*told, ask_at=account.ask_at)
    return Wanted(student.login, user, _pushed(account, work, grade), partial(_page, account, work))


def _pushed(account: _Account, work: GradedWork, grade: Grade) -> PushedGrade:
    """Return what is written: ratings only where the page tells the same."""
    assignment, options = account.assignment, account.options
    points = scaled(grade.points or NONE, grade.possible, account.most)
    ratings: Mapping[str, Decimal] = {}
    if options.platform == "lti":
        comment = _comment(account, work, grade) if options.pages else ""
        return PushedGrade(points, comment=comment)
    if assignment.rubric:
        whole = work.read()
        if _shows_all(whole, account.now):
            titles = {e.id: {e.title.in_(lang) for lang in LANGUAGES} for e in whole.parts}
            ratings = ratings_of(assignment, points, grade.parts, titles)
    if not (options.pages and assignment.takes_pages):
        return PushedGrade(points, ratings=ratings)
    key = page_digest(work, account.now)[:_KEY_DIGITS]
    return PushedGrade(points, key, ratings, COMMENT.in_(options.language))


def _comment(account: _Account, work: GradedWork, grade: Grade) -> str:
    """Return the points of the parts, where students may see all points; else nothing."""
    whole = work.read()
    if not _shows_all(whole, account.now):
        return ""
    titles = {each.id: each.title for each in whole.parts}
    told = parts_comment(grade.parts, titles, grade.points or NONE)
    return one_line(told.in_(account.options.language))


def _shows_all(whole: Report, now: datetime) -> bool:
    return shown(whole, "student", now).max_score == whole.max_score


def _page(account: _Account, work: GradedWork) -> bytes:
    takes = account.options.pages and account.assignment.takes_pages
    return student_page(work, account.now) if takes else b""


def _print_plan(
    rows: Collection[Row], assignment: LmsAssignment, account: _Account, output: Console
) -> None:
    name, most, options = assignment.name, show(account.most), account.options
    tell(output, say("points-there", name=one_line(name), points=most))
    if assignment.is_new:
        tell(output, say("column-is-made-there"))
    table = plain_table(say("student"), say("there"), say("new"), say("skipped-because"))
    for row in rows:
        if row.verdict != "same":
            cells = (row.wanted.login, _there(row), _new(row), _why(row))
            table.add_row(*(Styled(one_line(each)) for each in cells))
    if table.row_count:
        output.print(table)
    if same := sum(row.verdict == "same" for row in rows):
        tell(output, say("unchanged-sentence", count=same))
    if any(row.verdict == "unmatched" for row in rows):
        tell(output, say("add-user-ids-to-roster", column=repr(USER_COLUMNS[account.key])))
    if any(row.verdict in _OVERWRITTEN for row in rows):
        tell(output, say("replace-what-others-entered", option="--overwrite"))
    deducted = [row.wanted.login for row in rows if row.there.deducted]
    list_some(output, say("lms-takes-points-for-lateness-besides"), deducted)
    if options.pages and not assignment.takes_pages and options.platform != "lti":
        tell(output, say("assignment-there-takes-no-feedback-files-pages"))


def _there(row: Row) -> str:
    if row.there.excused:
        return "EX"
    return "–" if row.there.points is None else show(row.there.points)


def _new(row: Row) -> str:
    grade = row.wanted.grade
    if row.verdict != "write" or grade is None:
        return "–"
    return words(say("feedback-only")) if grade.points == row.there.points else show(grade.points)


def _why(row: Row) -> str:
    grade = row.wanted.grade
    if row.verdict not in _REASONS:
        return ""
    reason = _REASONS[row.verdict]
    if row.verdict in _OVERWRITTEN and grade is not None:
        reason = say("reason-and-points-here", reason=reason, points=show(grade.points))
    return words(reason)


def _tell_absent(options: PushOptions, graded: Collection[Student], output: Console) -> None:
    """Tell who handed in nothing here: whatever stands there for them stays."""
    with open_book(options.course) as book:
        present = [each for each in book.students() if each.withdrawn is None]
    handed_in = {each.id for each in graded}
    absent = [each.login for each in present if each.id not in handed_in]
    list_some(output, say("without-submission-and-left-unchanged"), absent)


def _tell_scale(grades: Iterable[Grade], account: _Account, output: Console) -> None:
    """Tell out of how many points grades are here, where they are scaled."""
    most = account.most
    ours = {each.possible for each in grades if each.points is not None and each.possible > 0}
    for possible in sorted(ours - {most}) if most > 0 else ():
        told = {"ours": show(possible), "theirs": show(most)}
        system = PLATFORM_NAMES[account.options.platform]
        tell(output, say("points-out-here-and-out-in-they", **told, form=system))


def _ask(question: Text) -> bool:
    """Ask a person. Raises UsageError where there is none."""
    if not sys.stdin.isatty():
        raise UsageError(say("nobody-there-confirm-so-nothing-written"), say("add-yes"))
    return typer.confirm(words(question))


def _write(
    platform: LmsGrades,
    rows: Collection[Row],
    journal: Journal,
    sleep: Sleep,
    options: PushOptions,
    output: Console,
) -> list[str]:
    """Push; return who was skipped after all. Raises LmsError, having said what is done."""
    count = sum(row.verdict == "write" for row in rows)
    written: list[str] = []
    late: list[str] = []
    try:
        with shown_progress() as progress:
            progress.stage(say("pushing"))
            for login, done in push(platform, rows, journal, sleep, overwrite=options.overwrite):
                (written if done else late).append(login)
                progress.step(len(written) + len(late), count)
    except LmsError:
        told = say("written-before-that", done=len(written), count=count)
        tell(output, told)
        raise
    tell(output, say("written-sentence", count=len(written)))
    list_some(output, say("changed-there-meanwhile-and-skipped"), late)
    unsure = unconfirmed(platform, rows) if platform.is_loose else []
    unsure = [login for login in unsure if login in written]
    list_some(output, say("other-points-shown-there-afterwards"), unsure)
    return [*late, *unsure]
