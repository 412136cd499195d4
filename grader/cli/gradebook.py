"""What the commands of the gradebook do: open it, ask or write, and tell."""

import gc
import getpass
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, time, tzinfo
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType

from rich.console import Console

from grader.batch.grading import Store
from grader.batch.recording import (
    HandedInWhen,
    OwnerName,
    RecordingStore,
    named_by_folder,
    open_recording,
)
from grader.cli.telling import CommandOutput, line, some_of, students, tell
from grader.course import load_course
from grader.course_folder import course_folder
from grader.errors import GradebookError, UsageError
from grader.files import read_existing
from grader.gradebook.book import Gradebook
from grader.gradebook.database import VARIABLE, exists, file_of, locate, open_database
from grader.gradebook.entries import plan, read_roster_file, shared_emails
from grader.language import Text, in_a_row, in_clauses, join, say
from grader.lms.collect import MANIFEST, collected_times
from grader.render.wording import one_line

_DIGITS = 4
_MOST = Decimal(1_000_000)
_SHOWN = 10


def course_here(course: Path | None) -> tuple[Path, bool]:
    """Return the course's folder, and whether it was named or is around the working folder."""
    working = Path.cwd()
    root = course_folder(course, (working,))
    return root, course is not None or root in (working, *working.parents)


def has_book(course: Path | None) -> bool:
    """Say whether there is a gradebook of a course, or one is named."""
    return VARIABLE in os.environ or exists(locate(course_here(course)[0], os.environ))


@contextmanager
def open_book(
    course: Path | None, *, make: bool = False, take_rules: bool = True
) -> Iterator[Gradebook]:
    """Open the gradebook that is meant, with what the course's assignments say today.

    Without `take_rules` they are to be taken over by the caller.

    Raises GradebookError where there is none, UsageError outside of a course.
    """
    root, is_ours = course_here(course)
    if not is_ours and VARIABLE not in os.environ:
        raise UsageError(
            say("this-folder-not-part-course"), say("run-command-in-folder-with-assignments")
        )
    reads = is_ours and take_rules
    assignments = load_course(root).assignments.values() if reads else ()
    book = Gradebook(open_database(locate(root, os.environ), make=make))
    # What was imported stays. The collector of garbage would look at all of it again and again, the
    # oftener the larger the class is: a student of 10,000 took a quarter more than one of 1,000.
    if not gc.get_freeze_count():
        gc.freeze()
    try:
        book.take_rules(each.assignment for each in assignments)
        yield book
    finally:
        book.close()


def init_course(course: Path | None, told: CommandOutput) -> None:
    """Make a gradebook, or bring one up to date."""
    root, is_ours = course_here(course)
    url = locate(root, os.environ)
    was_there = is_ours and exists(url)
    with open_book(course, make=True) as book:
        found = {"gradebook": book.where, "assignments": [*book.rules()]}
        lines = [
            say("gradebook", where=book.where)
            if was_there
            else say("new-gradebook", where=book.where),
            say("assignments", names=in_a_row(book.rules())),
            say("next-title", command=_next_step(book)),
        ]
        told.tell(found, lambda console: tell(console, *lines))


def _next_step(book: Gradebook) -> str:
    """Return the command for what a gradebook lacks: people, what they handed in, or nothing."""
    if all(each.withdrawn for each in book.students()):
        return "grader roster import FILE"
    if not book.stored_attempts():
        return "grader batch SUBMISSIONS --output reports"
    return "grader grades list"


def import_roster(
    path: Path, course: Path | None, told: CommandOutput, *, withdraw: bool, only_plan: bool
) -> None:
    """Read a roster into the gradebook, or say what that would change."""
    roster = read_roster_file(path)
    entries = roster.entries
    with open_book(course) as book:
        known = book.students()
        changes, shared = plan(known, entries), shared_emails(known, entries)
        if not only_plan:
            book.change_students(changes, changes.missing if withdraw else ())
    lines = [
        say(
            "in-new-changed-as-before",
            students=students(len(entries)),
            file=path.name,
            added=len(changes.added),
            changed=len(changes.changed),
            unchanged=changes.unchanged,
        ),
        *(_changed(login, fields) for login, fields in changes.changed.items()),
    ]
    if changes.returned:
        lines.append(say("returned-sentence", names=some_of(changes.returned, _SHOWN)))
    if changes.missing and len(changes.added) == len(entries):
        lines.append(say("none-of-gradebook-in-roster", file=path.name))
    if changes.missing:
        missing = say("not-in", names=some_of(changes.missing, _SHOWN))
        done, withdraws = say("they-have-withdrawn"), withdraw and not only_plan
        lines.append(
            join(missing, done if withdraws else say("with-withdraw-they-marked-as-withdrawn"))
        )
    lines += _shared(shared)
    for told_roles, people in (
        (say("left-out-by-role"), roster.left_out),
        (say("unknown-roles-taken-for-students"), roster.unknown),
    ):
        if people:
            names = some_of([f"{name} ({role})" for name, role in people], _SHOWN)
            lines.append(say(told_roles, count=len(people), names=names))
    if only_plan:
        lines.append(say("nothing-changed"))
    found = {
        "added": changes.added,
        "changed": changes.changed,
        "returned": changes.returned,
        "missing": changes.missing,
        "unchanged": changes.unchanged,
        "shared_emails": shared,
        "left_out": dict(roster.left_out),
        "unknown_roles": dict(roster.unknown),
        "written": not only_plan,
    }
    told.tell(found, lambda console: tell(console, *lines))


def _shared(emails: Mapping[str, Collection[str]]) -> list[Text]:
    lines = [
        say("e-mail-belongs-several-students", email=each, names=in_a_row(logins))
        for each, logins in [*emails.items()][:_SHOWN]
    ]
    if len(emails) > _SHOWN:
        more = len(emails) - _SHOWN
        lines.append(say("same-holds-for-more-e-mails", count=more))
    if lines:
        lines.append(say("shared-e-mail-matches-nobody"))
    return lines


def _changed(login: str, fields: Mapping[str, tuple[str, str]]) -> Text:
    changes = in_clauses(
        say("field-old-now-new", field=name, old=repr(old), new=repr(new))
        for name, (old, new) in fields.items()
    )
    return say("login-changes", login=login, changes=changes)


@contextmanager
def recording(
    folder: Path,
    store: Store,
    course: Path | None,
    handed_in: str | None,
    owner_name: OwnerName = named_by_folder,
    together: Mapping[Path, str] = MappingProxyType({}),
) -> Iterator[Store]:
    """Open the gradebook of a batch, if there is one, beside its folder of reports.

    `together` has a word for files of one student that were handed in at once. Raises
    GradebookError where one is named that cannot be opened.
    """
    if not has_book(course):
        if handed_in is not None:
            raise UsageError(
                say("there-no-gradebook-record-handed"), say("make-one-grader-course-init")
            )
        yield store
        return
    when: HandedInWhen = None
    if handed_in is not None:
        when = _when(handed_in)
    url = locate(course_here(course)[0], os.environ)
    with open_recording(folder, url, when, owner_name, together) as recorder:
        yield recorder


def _when(handed_in: str) -> HandedInWhen:
    """Return what `--handed-in` says. Raises UsageError where that is no time."""
    if handed_in == "files":
        return "files"
    if Path(handed_in).name == MANIFEST:
        read_existing(Path(handed_in), 0)  # without it nobody would be late
        return collected_times(Path(handed_in).parent)
    return moment(handed_in)


def secret_files(course: Path | None) -> tuple[Path, ...]:
    """Return what of a gradebook is kept from submissions."""
    path = file_of(locate(course_here(course)[0], os.environ))
    return (path,) if path is not None and path.exists() else ()


def tell_recorded(store: Store, console: Console, course: Path | None) -> None:
    """Say what the gradebook took, what it did not take, and why."""
    if not isinstance(store, RecordingStore):
        return
    if count := len(store.taken - {*store.unrecorded}):
        one = say("report-in-gradebook-too")
        many = say("reports-in-gradebook-too")
        told = one if count == 1 else many
        tell(console, say(told, count=count, command=_list_grades(course)))
    if store.late:
        late = say(
            "late-by-amount-that-lms-does",
            count=len(store.late),
            names=some_of(sorted(store.late), _SHOWN),
        )
        when = say("they-count-as-on-time-until-time")
        tell(console, late, when)
    if store.kept_times:
        names = some_of(sorted(store.kept_times), _SHOWN)
        kept = say("recorded-with-another-time", count=len(store.kept_times), names=names)
        tell(console, kept, say("to-count-another-time-extend"))
    if store.strangers:
        tell(
            console,
            say(
                "not-in-gradebook-nobody-in-roster-has",
                names=some_of(sorted(store.strangers), _SHOWN),
            ),
            say("name-folders-by-roster-ids-or-update"),
        )
    reasons = dict.fromkeys(join(error.message, error.hint) for error in store.troubles)
    for reason in [*reasons][:_SHOWN]:  # one of a server that is gone stands for all
        tell(console, line(say("not-in-gradebook", reason=reason)))


def _list_grades(course: Path | None) -> str:
    return "grader grades list" + ("" if course is None else f" --course {course}")


def refuse_unrecorded(store: Store) -> None:
    """Raise GradebookError where the gradebook did not take what it should have."""
    if isinstance(store, RecordingStore) and store.unrecorded:
        names = some_of(sorted(store.unrecorded), _SHOWN)
        raise GradebookError(
            say("not-in-gradebook-sentence", count=len(store.unrecorded), names=names),
            say("their-reports-kept-follow-advice-above"),
        )


def exact(text: str, refusal: Text) -> Decimal:
    """Return a number as it was typed. Raises UsageError, with `refusal`, for what is none."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(value) > _MOST or -exponent > _DIGITS:
        raise UsageError(say(refusal, text=repr(text)), say("write-number-such", digits=_DIGITS))
    return value


def moment(text: str, like: datetime | None = None, zone: tzinfo | None = None) -> datetime:
    """Return a time as it was typed; a day alone is meant to its end.

    Without an offset from UTC it is by the clocks of `zone`. Without that they are this machine's,
    unless they show `like` at another offset: then it is that one. Raises UsageError.
    """
    try:
        utc = "+00:00" if text.endswith("Z") else ""  # as Python 3.10 reads it
        found = datetime.fromisoformat(text.removesuffix("Z") + utc)
    except ValueError:
        raise UsageError(
            say("not-time", text=repr(text)), say("write-time-such-as-2026-12-01t23")
        ) from None
    if len(text) == len("2026-12-01"):
        found = datetime.combine(found.date(), time(23, 59, 59))
    if found.utcoffset() is not None:
        return found
    if zone is not None:
        return found.replace(tzinfo=zone)
    is_elsewhere = like is not None and like.astimezone().utcoffset() != like.utcoffset()
    return found.replace(tzinfo=like.tzinfo) if like and is_elsewhere else found.astimezone()


def whoever() -> str:
    """Return who types, as the machine knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def needed_reason(reason: str | None) -> str:
    """Return a reason that says something. Raises UsageError."""
    said = one_line(reason or "")
    if not said:
        raise UsageError(say("there-no-reason"), say("give-reason-question-unclear"))
    return said
