"""`grader collect`, `export`, `feedback`: from a learning management system and back to it."""

import codecs
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace
from rich.console import Console

from grader.cli.telling import shown_progress, some_of, students, tell, words
from grader.course_folder import course_folder
from grader.course_settings import load_settings
from grader.errors import UsageError
from grader.files import indented_json, write_or_rescue, write_whole, writing
from grader.gradebook.entries import RosterEntry
from grader.language import NOTHING, Text, foreign, in_a_row, in_clauses, join, say
from grader.lms.archives import LeftOut, Reason
from grader.lms.choices import FORMS, LAYOUTS, PACKED, Packed
from grader.lms.collect import (
    MANIFEST,
    SUBMISSIONS,
    Collected,
    CollectedStudent,
    CollectOutcome,
    CollectRequest,
    collect_class,
    read_manifest,
)
from grader.lms.export import ExportedGrade, export_grades
from grader.lms.handback import (
    GradedWork,
    Works,
    grades_of,
    pack_pages,
    page_names,
    read_works,
    student_page,
)
from grader.lms.roster import keys_of, read_roster
from grader.lms.times import zone_of
from grader.reading.member_names import ENCODINGS
from grader.report import utc_now
from grader.tables import read_table

_SHOWN = 20
"""So many names are printed; all of them are in the manifest and in `--json`."""

_LARGE = 4 * 2**20
"""Bytes that are collected within seconds."""

_REASONS: dict[Reason, Text] = {
    "link": say("link-which-not-followed"),
    "special": say("no-plain-file"),
    "outside": say("would-leave-folder"),
    "name": say("name-too-long-or-none"),
    "twice": say("another-has-same-name"),
    "large": say("too-large"),
    "encrypted": say("encrypted"),
    "unsupported": say("uses-compression-that-not-supported"),
    "damaged": say("it-is-damaged"),
    "foreign": say("archive-kind-that-not-unpacked-here-unpack"),
    "nested": say("nested-more-than-twice"),
    "budget": say("students-archives-too-large-together"),
    "missing": say("files-not-in-archive"),
    "unclear": say("name-fits-two-students"),
    "unsubmitted": say("nothing-for-this-assignment"),
    "owner": say("belongs-to-another-user-account"),
    "closed": say("may-not-be-read"),
    "unread": say("reading-archive-took-too-long-from-here"),
    "gone": say("lms-does-not-have-file"),
    "textual": say("nothing-for-this-assignment"),
}

_TOLD_APART = ("unsubmitted", "unread", "textual")


class CollectOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader collect`, as they were given."""

    sources: tuple[Path, ...]
    output: Path
    layout: str | None = None
    roster: Path | None = None
    assignment: str | None = None
    json: bool = False
    timezone: str | None = None
    encoding: str | None = None


def run_collect(options: CollectOptions, output: Console, write: Callable[[bytes], None]) -> bool:
    """Collect and say what was done. Returns whether everything was somebody's and was taken.

    Raises GraderError when a source cannot be read.
    """
    roster = None if options.roster is None else read_roster(options.roster)
    zone = None if options.timezone is None else zone_of(options.timezone)
    name = options.layout
    layout = None if name is None else _one_of(name, LAYOUTS, say("from-unknown", name=name))
    wanted = CollectRequest(
        options.sources,
        options.output,
        layout,
        options.assignment,
        zone,
        _encoding(options.encoding),
    )
    size = sum(each.stat().st_size for each in options.sources if each.is_file())
    with shown_progress(is_long=size > _LARGE) as progress:
        outcome = collect_class(wanted, roster, progress)
    if not options.json:
        return print_collected(outcome, options.output, output)
    write(indented_json(outcome))
    return _is_complete(outcome)


def _is_complete(outcome: CollectOutcome) -> bool:
    doubtful = outcome.unmatched or outcome.contested or outcome.undated
    unread = any(each.reason == "unread" for each in outcome.collected.left_out)
    return not (doubtful or unread or _left_out(outcome.collected))


def _encoding(name: str | None) -> str:
    """Return an encoding as the reader knows it, empty for none."""
    if name is None:
        return ""
    try:
        known = codecs.lookup(name).name
    except LookupError:
        known = ""
    if known not in ENCODINGS:
        raise UsageError(say("encoding-unknown", name=name), say("one", names=in_a_row(ENCODINGS)))
    return known


def print_collected(
    outcome: CollectOutcome,
    folder: Path,
    output: Console,
    system: str = "",
    slug: str = "",
    course: Path | None = None,
) -> bool:
    """Say what was collected, or came from a system. Returns whether all of it was taken.

    `slug` is the assignment of all that was collected, empty where nobody has said. `course` is the
    folder that was named, if one was.
    """
    found = outcome.collected.students
    late = [each.folder for each in found if each.attempts[-1].late]
    layouts, count = in_a_row(outcome.layouts), students(len(found))
    came = say("layout", layouts=layouts, students=count)
    tell(output, say("from-system", system=system, students=count) if system else came)
    for source, encoding in outcome.encodings.items():
        read = say("file-names-in-read-as-if-they", source=source, encoding=encoding)
        tell(output, read)
    list_some(output, say("new-sentence"), outcome.new)
    list_some(output, say("resubmitted"), outcome.replaced)
    if outcome.unchanged:
        tell(output, say("unchanged-sentence", count=len(outcome.unchanged)))
    list_some(output, say("late"), late)
    list_some(output, say("times-without-time-zone-read"), outcome.zoneless)
    list_some(output, say("unreadable-times"), outcome.undated)
    if outcome.zoneless or outcome.undated:
        tell(output, say("give-time-zone-lms", option="--timezone Europe/Berlin"))
    list_some(output, say("not-matched-roster"), outcome.unmatched)
    if outcome.unmatched:
        tell(output, say("name-folders-by-roster-ids-or-update"))
    list_some(
        output, say("unmatched-several-submissions-would-belong-one-student"), outcome.contested
    )
    if outcome.contested:
        tell(output, say("review-each-and-grade-students-one"))
    apart = {
        reason: [each.name for each in outcome.collected.left_out if each.reason == reason]
        for reason in _TOLD_APART
    }
    absent = [each for each in outcome.absent if each not in apart["textual"]]
    list_some(output, say("in-roster-without-submission"), absent)
    list_some(output, say("no-submission-for-this-assignment"), apart["unsubmitted"])
    list_some(output, say("submitted-without-file"), apart["textual"])
    list_some(output, say("reading-took-too-long-students-from-here"), apart["unread"])
    if apart["unread"]:
        tell(output, say("unpack-archive-by-hand-and-name-folder"))
    list_some(output, say("left-out"), _left_out(outcome.collected))
    tell(output, say("owner-each-folder", path=str(folder / MANIFEST)))
    command = f"grader batch {folder / SUBMISSIONS} --output reports"
    command += f" --assignment {slug}" if slug else ""
    newest = [each.attempts[-1] for each in found]
    # Canvas marks the late ones alone: without the option they would count as on time
    is_timed = any(each.at or each.late for each in newest) and not outcome.zoneless
    if is_timed and _has_book(course):
        command += f" --handed-in {folder / MANIFEST}"
    tell(output, say("next-title", command=command))
    return _is_complete(outcome)


def _has_book(course: Path | None) -> bool:
    """Say whether there is a gradebook that would count lateness: without one nothing does."""
    from grader.cli.gradebook import has_book  # with a database

    return has_book(course)


def _left_out(collected: Collected) -> list[str]:
    everything = [
        *((each.name, each) for each in collected.left_out if each.reason not in _TOLD_APART),
        *(
            (f"{student.folder}/{each.name}", each)
            for student in collected.students
            for each in student.attempts[-1].left_out
        ),
    ]
    return [
        *(_left_out_line(name, each) for name, each in everything),
        *(words(say("name-does-not-say-whose", name=name)) for name in collected.strangers),
    ]


def _left_out_line(name: str, left_out: LeftOut) -> str:
    reason = _REASONS[left_out.reason]
    if left_out.more:
        told = say("name-and-count-more-reason", name=name, count=left_out.more, reason=reason)
        return words(told)
    return words(say("name-reason-in-parentheses", name=name, reason=reason))


def list_some(output: Console, sentence: Text, names: Collection[str]) -> None:
    """Tell a sentence with a `count` and `names`, where there are any."""
    if names:
        tell(output, say(sentence, count=len(names), names=some_of(names, _SHOWN)))


# `grader export` and `grader feedback`: grades and pages for the learning management system.


_Name = TypeVar("_Name", bound=str)


class ExportOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader export`, as they were given."""

    form: str
    reports: Path | None = None
    assignment: str | None = None
    collected: Path | None = None
    into: Path | None = None
    column: str | None = None
    output: Path | None = None
    course: Path | None = None


class _Graded(NamedTuple):
    grades: list[ExportedGrade]
    ungraded: tuple[str, ...] = ()
    several: tuple[str, ...] = ()
    unsettled: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()


class FeedbackOptions(msgspec.Struct, frozen=True):
    """The arguments of `grader feedback`, as they were given."""

    output: Path
    reports: Path | None = None
    assignment: str | None = None
    collected: Path | None = None
    packed: str | None = None
    course: Path | None = None


def run_export(options: ExportOptions, messages: Console, write: Callable[[bytes], None]) -> bool:
    """Write the grades. Returns whether everybody is in them. Raises UsageError."""
    form = _one_of(options.form, FORMS)
    own = None if options.into is None else read_table(options.into)
    found = _find_grades(options, messages)
    if not any(found):
        raise _nothing_graded(options.assignment, options.reports)
    exported = export_grades(form, found.grades, own, options.column)
    if options.output is None:
        write(exported.content)
    else:
        write_or_rescue(options.output, exported.content, say("grades"))
        tell(messages, say("written-title", path=str(options.output)))
    for ours, theirs in exported.scaled:
        scaled = say(
            "points-out-here-and-out-in-they", ours=ours, theirs=theirs, form=form.capitalize()
        )
        tell(messages, scaled)
    _list(messages, say("unknown-system-and-not-in-file"), exported.unknown)
    _list(messages, say("without-grade-and-left-unchanged"), exported.ungraded)
    _list(messages, say("excused-there-or-not-assigned-and-left"), exported.exempt)
    _tell_ungraded(messages, found)
    left_out = found.ungraded or found.several or found.unsettled or found.unmarked
    return not (exported.unknown or left_out)


def _tell_ungraded(messages: Console, found: _Graded) -> None:
    """Say who has no grade to export, and why."""
    _list(messages, say("could-not-graded-sentence"), found.ungraded)
    _list(messages, say("several-reports-none-counted"), found.several)
    _list(messages, say("graded-again-and-not-in-file"), found.unsettled)
    _list(messages, say("not-marked-by-hand-yet-sentence"), found.unmarked)


def _find_grades(options: ExportOptions, messages: Console) -> _Graded:
    if options.reports is not None:
        works = _in_folder(options.reports, options.collected, options.assignment)
        grades, unmarked = grades_of(works)
        return _Graded(grades, works.ungraded, works.several, unmarked=unmarked)
    return _in_book(_named(options.assignment, options.course), options.course, messages)


def _named(assignment: str | None, course: Path | None) -> str:
    """Return an assignment's name: as given, else the only one that anybody handed in.

    Raises UsageError where there is none, or there are several.
    """
    from grader.cli.gradebook import open_book  # with a database, which reports need not

    if assignment is not None:
        return assignment
    slugs: list[str] = []
    if _has_book(course):
        with open_book(course) as book:
            slugs = sorted({each.slug for each in book.stored_attempts()})
    if len(slugs) == 1:
        return slugs[0]
    hint = say("name-assignment-gradebook-with-assignment-or-folder")
    known = say("known", known=in_a_row(slugs)) if slugs else NOTHING
    raise UsageError(say("no-grades-named"), join(hint, known))


def _in_book(slug: str, course: Path | None, messages: Console) -> _Graded:
    """Return what the gradebook makes of an assignment: adjusted, and less what lateness costs."""
    from grader.cli.student_grades import class_grades  # with a database, which reports need not

    grades, unsettled, unmarked = [], [], []
    for student, grade in class_grades(slug, course, messages):
        if grade is None or grade.points is None:
            continue
        if not grade.settled:
            unsettled.append(student.login)
            continue
        if grade.open:
            unmarked.append(student.login)
            continue
        fields = {"email": student.email, "github": student.github}
        keys = keys_of(RosterEntry(student.login, fields, student.lms, ""))
        grades.append(
            ExportedGrade(
                student.login, student.name, grade.points, grade.possible, keys, student.section
            )
        )
    return _Graded(grades, unsettled=tuple(unsettled), unmarked=tuple(unmarked))


def run_feedback(options: FeedbackOptions, messages: Console) -> bool:
    """Write the students' pages, or an archive of them. Returns whether everybody's is there."""
    left_out: tuple[str, ...] = ()
    earlier: list[str] = []
    form = None if options.packed is None else _one_of(options.packed, PACKED)
    with _found_works(options, messages) as works:
        if not works.each:
            _tell_problems(works, messages)
            raise _nothing_graded(options.assignment, options.reports)
        if form is None:
            earlier = _write_pages(works, options.output, utc_now())
        else:
            content, left_out = pack_pages(works.each, form, utc_now(), options.collected)
            if len(left_out) == len(works.each):
                raise _nothing_to_pack(form, options.collected)
            write_or_rescue(options.output, content, say("pages"))
    count = len(works.each) - len(left_out)
    one, many = say("written-with-page"), say("written-with-pages")
    tell(messages, say(one if count == 1 else many, path=str(options.output), count=count))
    list_some(messages, say("pages-from-before"), earlier)
    _list(messages, say("not-from-and"), left_out, system=form or "")
    _tell_unmarked(works, options, messages)
    _tell_problems(works, messages)
    return not (left_out or works.ungraded or works.several)


def _nothing_graded(assignment: str | None, reports: Path | None) -> UsageError:
    """Return what is said where nobody has a grade: a file without one is of no use."""
    where = assignment if reports is None else str(reports)
    return UsageError(
        say("nothing-graded-in", where=where or ""),
        say("grade-class-first-grader-batch-folder-output"),
    )


def _nothing_to_pack(form: Packed, collected: Path | None) -> UsageError:
    """Return what an archive lacks in which nobody's page would be."""
    from grader.lms.sync.source import read_source  # with what sends requests

    system = _SYSTEM_NAMES[form]
    if collected is None:
        return UsageError(
            say("archive-needs-names-of-download", system=system),
            say("name-folder-collected-with-option", option="--collected class"),
        )
    source = read_source(collected)
    if source is not None and source.platform == form:
        command = f"grader sync {form} push {collected} --assignment SLUG"
        return UsageError(
            say("fetched-by-api-without-names", folder=str(collected), system=system),
            say("push-pages-instead", command=command),
        )
    return UsageError(
        say("not-collected-from-system", folder=str(collected), system=system),
        say("pages-in-folder-instead", option="--zip"),
    )


_SYSTEM_NAMES: dict[Packed, str] = {"moodle": "Moodle", "canvas": "Canvas", "nbgrader": "nbgrader"}


def _tell_unmarked(works: Works, options: FeedbackOptions, messages: Console) -> None:
    """Say on whose pages something is not marked yet, and where it may be: a report never is."""
    unmarked = [work.folder for work in works.each if work.open]
    _list(messages, say("not-marked-by-hand-yet-as-their"), unmarked)
    if unmarked and options.reports is not None:
        told = say(
            "marks-given-by-hand-only-in-gradebook", command="grader feedback --assignment SLUG"
        )
        tell(messages, told)


def _write_pages(works: Works, folder: Path, now: datetime) -> list[str]:
    """Write everybody's page; return those in the folder that are nobody's of today."""
    names = page_names(works.each)
    with writing(folder, say("pages")):
        folder.mkdir(parents=True, exist_ok=True)
        for work in works.each:
            write_whole(folder / names[work.folder], student_page(work, now))
        return sorted({each.name for each in folder.glob("*.html")} - {*names.values()})


@contextmanager
def _found_works(options: FeedbackOptions, messages: Console) -> Iterator[Works]:
    """Open the work of a folder of reports, or of the attempts that count in the gradebook."""
    ask_at = load_settings(course_folder(options.course, (Path.cwd(),))).objections.address
    if options.reports is not None:
        works = _in_folder(options.reports, options.collected, options.assignment)
        yield replace(works, each=tuple(replace(e, ask_at=ask_at) for e in works.each))
        return
    from grader.cli.student_grades import counting_reports  # with a database

    students = _students(options.collected)
    slug = _named(options.assignment, options.course)
    with counting_reports(slug, options.course, messages) as counting:
        found, ungraded = [], []
        for student, grade, read in counting:
            if read is None:
                ungraded.append(student.login)
                continue
            theirs = next((e for e in students if student.login in (e.id, e.folder)), None)
            words = (student.login, read, theirs, grade.attempt, student.name, grade.final)
            found.append(GradedWork(*words, open=float(grade.open), ask_at=ask_at))
        yield Works(tuple(found), tuple(ungraded))


def _in_folder(reports: Path, collected: Path | None, slug: str | None) -> Works:
    return read_works(reports, Collected(students=_students(collected)), collected, slug)


def _students(collected: Path | None) -> tuple[CollectedStudent, ...]:
    known = Collected() if collected is None else read_manifest(collected)
    if collected is not None and not known.students:
        raise UsageError(
            say("nothing-collected-into", collected=str(collected)),
            say("name-output-grader-collect"),
        )
    return known.students


def _one_of(name: str, known: tuple[_Name, ...], refusal: Text = NOTHING) -> _Name:
    found = next((each for each in known if each == name), None)
    if found is None:
        refusal = refusal or say("there-no-format", format=name)
        raise UsageError(refusal, say("one", names=in_a_row(known)))
    return found


def _tell_problems(works: Works, messages: Console) -> None:
    _list(messages, say("could-not-graded-sentence"), works.ungraded)
    _list(messages, say("several-reports-none-counted"), works.several)


def _list(output: Console, sentence: Text, names: Collection[str], **values: str) -> None:
    if names:  # Canvas writes "Lovelace, Ada"
        row = in_clauses(map(foreign, names)) if "," in "".join(names) else in_a_row(names)
        tell(output, say(sentence, count=len(names), names=row, **values))
