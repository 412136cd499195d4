"""What the commands of the gradebook do: open it, ask or write, and tell."""

from __future__ import annotations

import gc
import getpass
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, time, tzinfo
from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import MappingProxyType

import msgspec
from rich.console import Console

from grader.batch.grading import Store
from grader.batch.recording import (
    HandedInWhen,
    OwnerName,
    RecordingStore,
    named_by_folder,
    open_recording,
)
from grader.cli.ending import write_output
from grader.cli.telling import line, some_of, students, tell
from grader.course import load_course
from grader.course_folder import course_folder
from grader.errors import GradebookError, UsageError
from grader.files import unwritable, write_whole
from grader.gradebook.book import Gradebook
from grader.gradebook.database import VARIABLE, exists, file_of, locate, open_database
from grader.gradebook.doubles import shared_emails
from grader.gradebook.entries import plan, read_roster
from grader.language import ENGLISH, Text, in_a_row, in_clauses, join, say
from grader.lms.collect import MANIFEST, collected_times
from grader.render.wording import one_line

_DIGITS = 4
_MOST = Decimal(1_000_000)
_SHOWN = 10
STANDARD = Path("-")
"""The place that stands for the standard output."""


class CommandOutput(msgspec.Struct, frozen=True):
    """Where a command tells what it found: to people on the console, as JSON in a file.

    Where the JSON goes to the standard output, it stands there alone.
    """

    json: Path | None = None
    language: str = ENGLISH

    def tell(self, found: object, people: Callable[[Console], None]) -> None:
        """Tell it both ways. Raises UsageError where the file cannot be written."""
        if self.json is not None:
            self._write(found)
        if self.json != STANDARD:
            people(Console(emoji=False))

    def _write(self, found: object) -> None:
        encoder = msgspec.json.Encoder(decimal_format="number", enc_hook=self._encode)
        document = msgspec.json.format(encoder.encode(found), indent=2) + b"\n"
        if self.json == STANDARD or self.json is None:
            write_output(document)
            return
        try:
            write_whole(self.json, document)
        except OSError as error:
            raise unwritable(self.json, error, say("what was found")) from None

    def _encode(self, value: object) -> str:
        if isinstance(value, Text):
            return value.in_(self.language)
        raise NotImplementedError(type(value).__name__)


def course_here(course: Path | None) -> tuple[Path, bool]:
    """Return the course's folder, and whether it was named or is around the working folder."""
    working = Path.cwd()
    root = course_folder(course, (working,))
    return root, course is not None or root in (working, *working.parents)


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
            say("This folder is not part of a course."),
            say("Run the command in a folder with assignments/, or name one with --course DIR."),
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
            say("The gradebook {where}", where=book.where)
            if was_there
            else say("A new gradebook: {where}", where=book.where),
            say("Assignments: {names}", names=in_a_row(book.rules())),
            say("Next: {command}", command=_next_step(book)),
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
    entries = read_roster(path)
    with open_book(course) as book:
        known = book.students()
        changes, shared = plan(known, entries), shared_emails(known, entries)
        if not only_plan:
            book.change_students(changes, changes.missing if withdraw else ())
    lines = [
        say(
            "{students} in {file}: {added} new, {changed} changed, {unchanged} as before.",
            students=students(len(entries)),
            file=path.name,
            added=len(changes.added),
            changed=len(changes.changed),
            unchanged=changes.unchanged,
        ),
        *(_changed(login, fields) for login, fields in changes.changed.items()),
    ]
    if changes.returned:
        lines.append(say("Returned: {names}.", names=some_of(changes.returned, _SHOWN)))
    if changes.missing:
        missing = say("Not in it: {names}.", names=some_of(changes.missing, _SHOWN))
        done, withdraws = say("They have withdrawn."), withdraw and not only_plan
        lines.append(
            join(
                missing, done if withdraws else say("With --withdraw they are marked as withdrawn.")
            )
        )
    lines += _shared(shared)
    if only_plan:
        lines.append(say("Nothing was changed."))
    found = {
        "added": changes.added,
        "changed": changes.changed,
        "returned": changes.returned,
        "missing": changes.missing,
        "unchanged": changes.unchanged,
        "shared_emails": shared,
        "written": not only_plan,
    }
    told.tell(found, lambda console: tell(console, *lines))


def _shared(emails: Mapping[str, Collection[str]]) -> list[Text]:
    """Return what is said of e-mails that several have."""
    lines = [
        say(
            "The e-mail {email} belongs to several students: {names}.",
            email=each,
            names=in_a_row(logins),
        )
        for each, logins in [*emails.items()][:_SHOWN]
    ]
    if len(emails) > _SHOWN:
        more = len(emails) - _SHOWN
        lines.append(say("The same holds for {count} more e-mails.", count=more))
    if lines:
        lines.append(say("None of them was found: name folders by their ids, or correct the name."))
    return lines


def _changed(login: str, fields: Mapping[str, tuple[str, str]]) -> Text:
    """Return what is said of a student of whom the roster says something else."""
    changes = in_clauses(
        say("{field} {old} is now {new}", field=name, old=repr(old), new=repr(new))
        for name, (old, new) in fields.items()
    )
    return say("{login}: {changes}", login=login, changes=changes)


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
    url = locate(course_here(course)[0], os.environ)
    if VARIABLE not in os.environ and not exists(url):
        if handed_in is not None:
            raise UsageError(
                say("There is no gradebook to record --handed-in."),
                say("Make one: grader course init"),
            )
        yield store
        return
    when: HandedInWhen = None
    if handed_in is not None:
        when = _when(handed_in)
    with open_recording(folder, url, when, owner_name, together) as recorder:
        yield recorder


def _when(handed_in: str) -> HandedInWhen:
    """Return what `--handed-in` says. Raises UsageError where that is no time."""
    if handed_in == "files":
        return "files"
    if Path(handed_in).name == MANIFEST:
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
        one = say("{count} report is in the gradebook, too: {command}")
        many = say("{count} reports are in the gradebook, too: {command}")
        told = one if count == 1 else many
        tell(console, say(told, count=count, command=_list_grades(course)))
    if store.late:
        late = say(
            "Late, by an amount that the LMS does not export ({count}): {names}.",
            count=len(store.late),
            names=some_of(sorted(store.late), _SHOWN),
        )
        when = say("They count as on time until a time is given: --handed-in TIME.")
        tell(console, late, when)
    if store.strangers:
        tell(
            console,
            say(
                "Not in the gradebook: {names}. Nobody in the roster has this id, or several do.",
                names=some_of(sorted(store.strangers), _SHOWN),
            ),
            say("Name the folders by roster ids, or update the roster."),
        )
    reasons = dict.fromkeys(join(error.message, error.hint) for error in store.troubles)
    for reason in [*reasons][:_SHOWN]:  # one of a server that is gone stands for all
        tell(console, line(say("Not in the gradebook: {reason}", reason=reason)))


def _list_grades(course: Path | None) -> str:
    """Return the command that shows what a course's gradebook has."""
    return "grader grades list" + ("" if course is None else f" --course {course}")


def refuse_unrecorded(store: Store) -> None:
    """Raise GradebookError where the gradebook did not take what it should have."""
    if isinstance(store, RecordingStore) and store.unrecorded:
        names = some_of(sorted(store.unrecorded), _SHOWN)
        raise GradebookError(
            say(
                "Not in the gradebook ({count}): {names}.", count=len(store.unrecorded), names=names
            ),
            say(
                "Their reports are kept. Follow the advice above, then run the same command "
                "again: it records them, and grades nothing twice."
            ),
        )


def exact(text: str, refusal: Text) -> Decimal:
    """Return a number as it was typed. Raises UsageError, with `refusal`, for what is none."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    exponent = value.as_tuple().exponent
    if not isinstance(exponent, int) or abs(value) > _MOST or -exponent > _DIGITS:
        raise UsageError(
            say(refusal, text=repr(text)),
            say("Write a number such as 2.5, with at most {digits} decimals.", digits=_DIGITS),
        )
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
            say("{text} is not a time.", text=repr(text)),
            say("Write a time such as 2026-12-01T23:59+01:00, or only a day."),
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
        raise UsageError(
            say("There is no reason."), say('Give a reason: --reason "the question was unclear"')
        )
    return said
