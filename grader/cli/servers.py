"""`grader mark` and `grader preview`: a server for one browser on this machine, until Ctrl-C.

Each imports what its own page needs: one the library of databases, the other PyTorch.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from grader.assignment import Assignment
from grader.cli.ending import command_language
from grader.cli.telling import tell
from grader.course import find_course, load_course
from grader.course_settings import load_settings
from grader.errors import UsageError
from grader.grading.preparation import GradingOptions, open_settings
from grader.language import in_a_row, say
from grader.loopback import address_of, listening, serve

if TYPE_CHECKING:
    from grader.marking.queue import Share


class MarkOptions(msgspec.Struct, frozen=True):
    """What is marked, by whom, and where the page is: port 0 is one that is free."""

    slug: str | None
    course: Path | None
    who: str
    is_anonymous: bool
    port: int
    language: str | None
    share: str | None = None
    twice: float | None = None


def run_mark(options: MarkOptions, console: Console) -> None:
    """Serve the page until somebody presses Ctrl-C. Raises GraderError where it cannot begin."""
    from grader.cli.gradebook import course_here, open_book
    from grader.marking.pages import make_app
    from grader.marking.queue import Session

    root = course_here(options.course)[0]
    assignment, share = _chosen(options.slug, root), _share(options, root)
    with open_book(options.course) as book, listening(options.port) as listener:
        session = Session(
            book, assignment, options.who, is_anonymous=options.is_anonymous, share=share
        )
        answers = session.answers()
        done = sum(bool(each.given) for each in answers)
        port, token = listener.getsockname()[1], secrets.token_urlsafe(32)
        app = make_app(session, options.language or command_language(), token, port)
        tell(
            console,
            say("answers-marked", slug=assignment.slug, count=done, total=len(answers)),
            say("open-title", address=address_of(listener, token)),
            say("only-this-machine-can-open-page-ctrl"),
        )
        serve(app, listener)
    tell(console, say("all-marks-in-gradebook"))


def _share(options: MarkOptions, course: Path) -> Share | None:
    """Return which answers are asked for; None for all. Raises UsageError."""
    from grader.marking.queue import read_share

    if options.share is None:
        if options.twice is not None:
            raise UsageError(say("twice-needs-share"), say("give-everybody-share-1-3-twice-20"))
        return None
    marking = load_settings(course).marking
    twice = marking.twice if options.twice is None else options.twice
    return read_share(options.share, marking.markers, twice)


def _chosen(slug: str | None, course: Path) -> Assignment:
    """Return the assignment that is meant: one with parts that a person marks."""
    assignments = load_course(course).assignments
    manual = [slug for slug, each in assignments.items() if each.assignment.manual]
    if slug is None and len(manual) == 1:
        return assignments[manual[0]].assignment
    if slug in assignments:
        return assignments[slug].assignment
    if not manual:
        raise UsageError(
            say("no-assignment-this-course-has-part-mark"),
            say("add-manual-assignment-toml-see-docs-assignment"),
        )
    asked = say("which-assignment")
    if slug:
        asked = say("there-no-assignment-called-in-this-course", slug=slug)
    raise UsageError(asked, say("parts-marked-in", names=in_a_row(manual)))


# `grader preview`: what an assignment looks like while it is written, until Ctrl-C.


def run_preview(
    slug: str,
    grading: GradingOptions,
    port: int,
    language: str | None,
    console: Console,
    *,
    is_timed: bool,
) -> None:
    """Serve the pages until somebody presses Ctrl-C; port 0 is one that is free.

    Raises GraderError where it cannot begin.
    """
    from grader.authoring.master import find_master
    from grader.preview import PreviewSession, make_preview

    course = find_course(grading.course, (Path.cwd(),))
    chosen = course.get(slug)
    find_master(course.root, slug)
    with open_settings(grading, course, [chosen], ()) as settings, listening(port) as listener:
        session = PreviewSession(course.root, slug, settings, is_timed=is_timed)
        port, token = listener.getsockname()[1], secrets.token_urlsafe(32)
        app = make_preview(session, language or command_language(), token, port)
        tell(
            console,
            say("open-title", address=address_of(listener, token)),
            say("only-this-machine-can-open-page-ctrl"),
        )
        try:
            serve(app, listener)
        finally:
            session.close()
    session.join()
