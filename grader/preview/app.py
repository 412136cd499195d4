"""The pages: a frame for the template, one for the release, one for a notebook that is graded."""

from __future__ import annotations

from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from grader.language import Text, say
from grader.loopback import Guard
from grader.preview.session import REFERENCE, Choice, Failure, PreviewSession
from grader.render.html.local_pages import (
    PREVIEW_SCRIPT,
    PREVIEW_STYLE,
    preview_script,
    preview_style,
    render_files,
    render_frames,
    render_notebook,
    render_told,
)

REPORT_POLICY: Final = (
    "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""What a report's page may do: it has its style in itself, and no script."""


def make_preview(session: PreviewSession, language: str, token: str, port: int) -> ASGIApp:
    """Return the application, for a server that listens on a port of this machine."""
    pages = _Pages(session, language)
    style, script = preview_style(), preview_script()
    routes = [
        Route("/", pages.frames),
        Route("/state", pages.state),
        Route("/template", pages.template),
        Route("/release", pages.release),
        Route("/graded", pages.graded),
        Route(PREVIEW_STYLE, lambda _: Response(style, media_type="text/css")),
        Route(PREVIEW_SCRIPT, lambda _: Response(script, media_type="text/javascript")),
    ]
    return Guard(Starlette(routes=routes), "preview", token, port, framed=True)


class _Pages:
    """The pages, each of what the files are at that moment."""

    def __init__(self, session: PreviewSession, language: str) -> None:
        self._session = session
        self._language = language

    def frames(self, request: Request) -> Response:
        """Show all three side by side."""
        choice = self._session.choice()
        if isinstance(choice, Failure):  # the frames say why
            choice = Choice((self._language,), ((REFERENCE, ""),))
        mutants, languages = [each for each, _ in choice.mutants], choice.languages
        first = mutants[1] if len(mutants) > 1 else REFERENCE
        mutant = _one_of(request.query_params.get("mutant"), mutants, first)
        language = _one_of(request.query_params.get("lang"), languages, languages[0])
        return HTMLResponse(
            render_frames(choice.languages, choice.mutants, language, mutant, self._language)
        )

    def state(self, request: Request) -> Response:
        """Say in what state the files are, and whether the notebook that is shown is graded."""
        found = self._session.graded(request.query_params.get("mutant", REFERENCE))
        state = {"files": self._session.stamp(), "graded": found is not None}
        return Response(msgspec.json.encode(state), media_type="application/json")

    def template(self, request: Request) -> Response:
        """Show what students start from."""
        language = request.query_params.get("lang", self._language)
        found = self._session.template(language)
        if isinstance(found, Failure):
            return self._told(*found)
        return HTMLResponse(render_notebook(found, self._language))

    def release(self, _: Request) -> Response:
        """Show the files that students may have."""
        found = self._session.release()
        if isinstance(found, Failure):
            return self._told(*found)
        return HTMLResponse(render_files(found, self._language))

    def graded(self, request: Request) -> Response:
        """Show the page of a notebook that is graded, as its student sees it."""
        found = self._session.graded(request.query_params.get("mutant", REFERENCE))
        if found is None:
            return self._told(say("It is being graded."), say("The page comes by itself."))
        if isinstance(found, Failure):
            return self._told(*found)
        page = found.render("html", language=self._language)
        return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})

    def _told(self, reason: Text, hint: Text) -> Response:
        return HTMLResponse(render_told(reason, hint, self._language))


def _one_of(asked: str | None, known: list[str] | tuple[str, ...], otherwise: str) -> str:
    return asked if asked is not None and asked in known else otherwise
