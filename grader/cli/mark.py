"""`grader mark`: a server for one browser on this machine, until Ctrl-C."""

from __future__ import annotations

import contextlib
import secrets
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec
import uvicorn
from rich.console import Console

from grader.assignment import Assignment
from grader.cli.gradebook import course_here, open_book
from grader.cli.process import command_language
from grader.cli.telling import tell
from grader.course import load_course
from grader.errors import UsageError
from grader.language import in_a_row, say
from grader.marking.app import OPEN, make_app
from grader.marking.session import Session

LOOPBACK = "127.0.0.1"


class MarkOptions(msgspec.Struct, frozen=True):
    """What is marked, by whom, and where the page is: port 0 is one that is free."""

    slug: str | None
    course: Path | None
    who: str
    is_anonymous: bool
    port: int
    language: str | None


def run_mark(options: MarkOptions, console: Console) -> None:
    """Serve the page until somebody presses Ctrl-C. Raises GraderError where it cannot begin."""
    assignment = _chosen(options)
    with open_book(options.course) as book, _listening(options.port) as listener:
        session = Session(book, assignment, options.who, is_anonymous=options.is_anonymous)
        answers = session.answers()
        done = sum(bool(each.given) for each in answers)
        port, token = listener.getsockname()[1], secrets.token_urlsafe(32)
        app = make_app(session, options.language or command_language(), token, port)
        tell(
            console,
            say(
                "{slug}: {count} of {total} answers are marked.",
                slug=assignment.slug,
                count=done,
                total=len(answers),
            ),
            say("Open {address}", address=f"http://{LOOPBACK}:{port}{OPEN}?token={token}"),
            say("The page is for this machine alone. Ctrl-C ends it."),
        )
        _Server(
            uvicorn.Config(
                app,
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
                # Longer than browsers keep a connection that is idle (Chromium 300 s): a server
                # that ends it first may do so while a marking is sent, which is then lost.
                timeout_keep_alive=900,
            )
        ).run(sockets=[listener])
    tell(console, say("What was marked is in the gradebook."))


class _Server(uvicorn.Server):
    """Ends at Ctrl-C, which is how it is meant to end; at other signals as every command does."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed signals while the server runs."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {each: signal.signal(each, self.handle_exit) for each in numbers}
        try:
            yield
        finally:
            for number in numbers:
                signal.signal(number, before[number])
        for ending in {*self._captured_signals} - {signal.SIGINT}:
            signal.raise_signal(ending)


def _chosen(options: MarkOptions) -> Assignment:
    """Return the assignment that is meant: one with parts that a person marks."""
    assignments = load_course(course_here(options.course)[0]).assignments
    manual = [slug for slug, each in assignments.items() if each.assignment.manual]
    if options.slug is None and len(manual) == 1:
        return assignments[manual[0]].assignment
    if options.slug in assignments:
        return assignments[options.slug].assignment
    if not manual:
        raise UsageError(
            say("No assignment of this course has a part that a person marks."),
            say("Add [[manual]] to an assignment.toml; see docs/assignment.md."),
        )
    asked = say("Which assignment?")
    if options.slug:
        asked = say("There is no assignment called {slug!r} in this course.", slug=options.slug)
    raise UsageError(asked, say("Parts to be marked are in: {names}.", names=in_a_row(manual)))


@contextlib.contextmanager
def _listening(port: int) -> Iterator[socket.socket]:
    """Listen on a port of this machine alone. Raises UsageError where that is taken."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((LOOPBACK, port))
        except OSError as error:
            raise UsageError(
                say("Port {port} cannot be had: {reason}.", port=port, reason=str(error.strerror)),
                say("Leave out --port for a free one."),
            ) from None
        yield listener
