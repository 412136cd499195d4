"""`grader preview`: what an assignment looks like while it is written, until Ctrl-C."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec
from rich.console import Console

from grader.authoring.master import find_master
from grader.cli.process import command_language
from grader.cli.telling import tell
from grader.course import find_course
from grader.grading.preparation import GradingOptions, open_settings
from grader.language import say
from grader.loopback import address_of, listening, serve
from grader.preview.app import make_preview
from grader.preview.session import PreviewSession


class PreviewOptions(msgspec.Struct, frozen=True):
    """What is shown, and where the page is: port 0 is one that is free."""

    slug: str
    grading: GradingOptions
    port: int = 0
    is_timed: bool = False
    language: str | None = None


def run_preview(options: PreviewOptions, console: Console) -> None:
    """Serve the pages until somebody presses Ctrl-C. Raises GraderError where it cannot begin."""
    course = find_course(options.grading.course, (Path.cwd(),))
    chosen = course.get(options.slug)
    find_master(course.root, options.slug)
    with (
        open_settings(options.grading, course, [chosen], ()) as settings,
        listening(options.port) as listener,
    ):
        session = PreviewSession(course.root, options.slug, settings, is_timed=options.is_timed)
        port, token = listener.getsockname()[1], secrets.token_urlsafe(32)
        app = make_preview(session, options.language or command_language(), token, port)
        tell(
            console,
            say("Open {address}", address=address_of(listener, token)),
            say("The page is for this machine alone. Ctrl-C ends it."),
        )
        try:
            serve(app, listener)
        finally:
            session.close()
    session.join()
