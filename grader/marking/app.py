"""The server of the marking page: for one person's browser on this machine, and nobody else.

Whoever has the token of this run gets a cookie for it, which a browser sends for pages of this
address alone. What comes from another address, or under another name of this one, is refused. A
page loads nothing from elsewhere, and runs the one script that is the grader's own.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from grader.decoding import prepared
from grader.errors import GraderError
from grader.gradebook.book import OvertakenError
from grader.gradebook.entries import show
from grader.language import say
from grader.marking.session import Answer, Session, first_unmarked, following
from grader.marking.view import address_of, view_of
from grader.render.html.marking import (
    SCRIPT,
    STYLE,
    marking_script,
    marking_style,
    render_marked,
    render_marking,
)

BODY_LIMIT: Final = 2**16
"""Most bytes of a request."""

COMMENT_LENGTH: Final = 4_000
"""Most characters of a comment."""

OPEN: Final = "/open"
"""Where the token is given for a cookie."""

HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:;"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""What every answer says: no source but this one, no frame around it, and nothing kept."""

_ENTRY = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>grader</title>'
    '<meta http-equiv="refresh" content="0; url=/"></head>'
    '<body><a href="/">grader mark</a></body></html>'
)
"""A page of our own that leads on: a browser that came from elsewhere would not send the cookie."""


class Marked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the page sends: the items that are chosen, and the entry that it showed, 0 for none."""

    chosen: Annotated[tuple[str, ...], msgspec.Meta(max_length=200)]
    comment: Annotated[str, msgspec.Meta(max_length=COMMENT_LENGTH)]
    seen: Annotated[int, msgspec.Meta(ge=0)]
    is_taken_back: bool = False


class Guard:
    """Lets through who comes from this machine's browser with the cookie of this run."""

    def __init__(self, inner: ASGIApp, token: str, port: int) -> None:
        self._inner = inner
        self._token = token
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"grader-mark-{port}"
        self._value = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have it answered; all answers have the headers."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._answer(Request(scope)) or self._inner
        await answer(scope, receive, with_headers)

    def _answer(self, request: Request) -> Response | None:
        """Return what is answered here; None for what may go on."""
        hosts, origins = request.headers.getlist("host"), request.headers.getlist("origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("This is another address.", 421)
        if request.url.path == OPEN and request.method == "GET":
            return self._exchange(request)
        if not _is_same(request.cookies.get(self._cookie, ""), self._value):
            return PlainTextResponse("Open the address that the command has printed.", 403)
        if request.method not in ("GET", "HEAD") and origins != [f"http://{hosts[0]}"]:
            return PlainTextResponse("That was not asked by this page.", 403)
        return None

    def _exchange(self, request: Request) -> Response:
        if not _is_same(request.query_params.get("token", ""), self._token):
            return PlainTextResponse("Open the address that the command has printed.", 403)
        answer = HTMLResponse(_ENTRY)
        answer.set_cookie(self._cookie, self._value, httponly=True, samesite="strict", path="/")
        return answer


def _is_same(given: str, secret: str) -> bool:
    return secrets.compare_digest(given.encode(), secret.encode())


def make_app(session: Session, language: str, token: str, port: int) -> ASGIApp:
    """Return the application, for a server that listens on a port of this machine."""
    pages = _Pages(session, language)
    style, script = marking_style(), marking_script()
    routes = [
        Route("/", pages.begin),
        Route("/answer/{attempt:int}/{part}", pages.show, methods=["GET"]),
        Route("/answer/{attempt:int}/{part}", pages.take, methods=["POST"]),
        Route(STYLE, lambda _: Response(style, media_type="text/css")),
        Route(SCRIPT, lambda _: Response(script, media_type="text/javascript")),
    ]
    return Guard(Starlette(routes=routes), token, port)


class _Pages:
    """The pages, each of what the gradebook has at that moment."""

    def __init__(self, session: Session, language: str) -> None:
        self._session = session
        self._language = language

    def begin(self, _: Request) -> Response:
        """Lead to the first answer that is not marked, or say that there is none."""
        answers = self._session.answers()
        first = first_unmarked(answers)
        if first is not None:
            return RedirectResponse(address_of(first), 303)
        every = address_of(answers[0].place, shows_all=True) if answers else "/"
        title = self._session.assignment.named
        return HTMLResponse(render_marked(title, len(answers), every, self._language))

    def show(self, request: Request) -> Response:
        """Show an answer beside its rubric."""
        answers = self._session.answers()
        answer = _find(answers, request)
        report = None if answer is None else self._session.book.report_of(answer.attempt.id)
        if answer is None or report is None:
            return PlainTextResponse("There is no such answer.", 404)
        shows_all = request.query_params.get("show") == "all"
        found = next((part.answer for part in report.parts if part.id == answer.table.id), ())
        whole = request.query_params.get("notebook") == "whole" and bool(found)
        view = view_of(self._session, answers, answer, shows_all=shows_all, shows_notebook=whole)
        return HTMLResponse(render_marking(view, report, () if whole else found, self._language))

    async def take(self, request: Request) -> Response:
        """Take what was chosen, and say where it goes on."""
        content = b""
        async for chunk in request.stream():
            content += chunk
            if len(content) > BODY_LIMIT:
                return self._refuse(413)
        is_json = request.headers.get("content-type") == "application/json"
        try:
            marked = msgspec.json.decode(content, type=prepared(Marked)) if is_json else None
        except msgspec.DecodeError:
            marked = None
        if marked is None:
            return self._refuse(400)
        return await run_in_threadpool(self._write, request, marked)

    def _write(self, request: Request, marked: Marked) -> Response:
        shows_all = request.query_params.get("show") == "all"
        try:
            answer = _find(self._session.answers(), request)
            if answer is None:
                return self._refuse(404)
            if marked.is_taken_back:
                self._session.take_back(answer, marked.seen)
            else:
                self._session.mark(answer, marked.chosen, marked.comment, marked.seen)
        except ValueError:
            return self._refuse(400)
        except OvertakenError as error:
            return _json({"message": self._overtaken(error)}, 409)
        except GraderError as error:
            return _json({"message": error.message.in_(self._language)}, 503)
        if marked.is_taken_back:
            return _json({"next": address_of(answer.place, shows_all=shows_all)})
        after = following(self._session.answers(), answer.place, unmarked=not shows_all)
        return _json({"next": "/" if after is None else address_of(after, shows_all=shows_all)})

    def _refuse(self, status: int) -> Response:
        refused = say("The page has sent what cannot be saved: load it again.")
        return _json({"message": refused.in_(self._language)}, status)

    def _overtaken(self, error: OvertakenError) -> str:
        entry = error.entry
        if entry is None:
            told = say("Somebody else has taken this marking back. Nothing was saved.")
        else:
            told = say(
                "{who} has marked this meanwhile: {points} points. Nothing was saved.",
                who=entry.who,
                points=show(entry.points) if entry.points is not None else "0",
            )
        return told.in_(self._language)


def _find(answers: tuple[Answer, ...], request: Request) -> Answer | None:
    place = request.path_params["attempt"], request.path_params["part"]
    return next((each for each in answers if each.place == place), None)


def _json(content: dict[str, str], status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")
