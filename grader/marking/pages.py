"""The pages by which a person marks: what one shows of an answer, and what comes back from it."""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from grader.decoding import prepared
from grader.errors import GraderError
from grader.gradebook.book import OvertakenError
from grader.gradebook.entries import show, signed
from grader.gradebook.objections import told_time
from grader.language import Text, foreign, join, say
from grader.loopback import Guard
from grader.marking.queue import (
    AnswerToMark,
    Place,
    Session,
    comments_on,
    first_unmarked,
    following,
    preceding,
)
from grader.render.html.local_pages import (
    MARKING_SCRIPT,
    MARKING_STYLE,
    MarkingView,
    RubricRow,
    render_marked,
    render_marking,
)
from grader.render.html.page import asset
from grader.report import Report
from grader.rubric import exact

_MOST_BEFORE: Final = 3
"""So many cells before an answer are taken for its question."""

# From what the gradebook has of an answer to what the page shows of it.


def address_of(
    session: Session, place: Place, *, shows_all: bool = False, shows_notebook: bool = False
) -> str:
    """Return where the page of an answer is."""
    wanted = ["show=all"] if shows_all else []
    wanted += ["notebook=whole"] if shows_notebook else []
    attempt, part = place
    return f"/answer/{session.name_of(attempt)}/{part}" + ("?" + "&".join(wanted) if wanted else "")


def view_of(
    session: Session,
    answers: tuple[AnswerToMark, ...],
    answer: AnswerToMark,
    *,
    shows_all: bool,
    shows_notebook: bool,
) -> MarkingView:
    """Return what the page shows of an answer among all of them."""
    here, table = answer.place, answer.table

    def leading_to(place: Place | None) -> str:
        return "" if place is None else address_of(session, place, shows_all=shows_all)

    return MarkingView(
        title=session.assignment.named,
        part=table.named,
        whose=_whose(session, answer),
        about=_about(session, answer),
        points=show(exact(table.points)),
        state=_state(answer),
        seen=answer.seen,
        rows=_rows(answer),
        comment=answer.marking.comment,
        comments=comments_on(answers, table.id),
        done=sum(bool(each.given) for each in answers),
        all=len(answers),
        shows_all=shows_all,
        shows_notebook=shows_notebook,
        own=address_of(session, here, shows_all=shows_all),
        previous=leading_to(preceding(answers, here)),
        next=leading_to(following(answers, here, unmarked=not shows_all)),
        other_filter=address_of(session, here, shows_all=True) if not shows_all else "/",
        other_extent=address_of(
            session, here, shows_all=shows_all, shows_notebook=not shows_notebook
        ),
        question=table.asked,
    )


def question_before(report: Report, answer: tuple[int, ...]) -> tuple[int, ...]:
    """Return the cells of text right before an answer, as the student left them."""
    taken = {at for part in report.parts for at in part.answer}
    end = min(answer, default=0)
    begin = end
    while (
        end - begin < _MOST_BEFORE
        and begin > 0
        and begin - 1 not in taken
        and report.cells[begin - 1].kind == "markdown"
    ):
        begin -= 1
    return tuple(range(begin, end))


def _whose(session: Session, answer: AnswerToMark) -> Text:
    if session.is_anonymous:
        return say("submission-title", number=answer.number)
    student = answer.student
    return foreign(", ".join(filter(None, (student.name, student.login))))


def _about(session: Session, answer: AnswerToMark) -> Text:
    number = say("attempt-title", number=answer.attempt.number)
    if session.is_anonymous:
        return number
    return say("file-attempt", file=answer.attempt.name, attempt=number)


def _state(answer: AnswerToMark) -> Text:
    if not answer.given and answer.is_second:
        return say("second-marking-you-do-not-see-first")
    if not answer.given:
        return say("not-marked-yet-sentence")
    last = answer.given[-1]
    told = say(
        "by",
        points=show(answer.points),
        possible=show(exact(answer.table.points)),
        who=last.who,
        time=told_time(last.recorded),
    )
    chosen = [each.id for each in _rows(answer) if each.is_chosen]
    if answer.table.score(chosen) == answer.points:
        return told
    return join(told, say("chosen-rubric-items-do-not-add-up"))


def _rows(answer: AnswerToMark) -> tuple[RubricRow, ...]:
    """Return the rubric, with what was chosen; of a group that is new since then the first one."""
    table, chosen = answer.table, {each.id for each in answer.marking.items}
    taken: set[str] = set()
    rows = []
    for each in table.item:
        is_chosen = each.id in chosen and each.group not in taken
        if is_chosen and each.group:
            taken.add(each.group)
        worth = signed(table.worth(each))
        rows.append(RubricRow(each.id, each.said, worth, each.group, is_chosen))
    return tuple(rows)


BODY_LIMIT: Final = 2**16
"""Most bytes of a request."""

COMMENT_LENGTH: Final = 4_000
"""Most characters of a comment."""


class Marked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the page sends: the items that are chosen, and the entry that it showed, 0 for none."""

    chosen: Annotated[tuple[str, ...], msgspec.Meta(max_length=200)]
    comment: Annotated[str, msgspec.Meta(max_length=COMMENT_LENGTH)]
    seen: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    is_taken_back: bool = False


def make_app(session: Session, language: str, token: str, port: int) -> ASGIApp:
    """Return the application, for a server that listens on a port of this machine."""
    pages = _Pages(session, language)
    style, script = asset("marking.css"), asset("marking.js")
    routes = [
        Route("/", pages.begin),
        Route("/answer/{attempt}/{part}", pages.show, methods=["GET"]),
        Route("/answer/{attempt}/{part}", pages.take, methods=["POST"]),
        Route(MARKING_STYLE, lambda _: Response(style, media_type="text/css")),
        Route(MARKING_SCRIPT, lambda _: Response(script, media_type="text/javascript")),
    ]
    return Guard(Starlette(routes=routes), "mark", token, port)


class _Pages:
    def __init__(self, session: Session, language: str) -> None:
        self._session = session
        self._language = language

    def begin(self, _: Request) -> Response:
        """Lead to the first answer that is not marked, or say that there is none."""
        answers = self._session.answers()
        first = first_unmarked(answers)
        if first is not None:
            return RedirectResponse(address_of(self._session, first), 303)
        every = "/"
        if answers:
            every = address_of(self._session, answers[0].place, shows_all=True)
        title = self._session.assignment.named
        return HTMLResponse(render_marked(title, len(answers), every, self._language))

    def show(self, request: Request) -> Response:
        """Show an answer beside its rubric."""
        answers = self._session.answers()
        answer = _find(self._session, answers, request)
        report = None if answer is None else self._session.book.report_of(answer.attempt.id)
        if answer is None or report is None:
            return PlainTextResponse("There is no such answer.", 404)
        shows_all = request.query_params.get("show") == "all"
        found = next((part.answer for part in report.parts if part.id == answer.table.id), ())
        whole = request.query_params.get("notebook") == "whole" and bool(found)
        view = view_of(self._session, answers, answer, shows_all=shows_all, shows_notebook=whole)
        before = () if whole else question_before(report, found)
        shown = () if whole else found
        return HTMLResponse(render_marking(view, report, shown, self._language, before))

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
            answer = _find(self._session, self._session.answers(), request)
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
            return _json({"next": address_of(self._session, answer.place, shows_all=shows_all)})
        after = following(self._session.answers(), answer.place, unmarked=not shows_all)
        if after is None:
            return _json({"next": "/"})
        return _json({"next": address_of(self._session, after, shows_all=shows_all)})

    def _refuse(self, status: int) -> Response:
        refused = say("page-sent-something-that-cannot-saved-load")
        return _json({"message": refused.in_(self._language)}, status)

    def _overtaken(self, error: OvertakenError) -> str:
        entry = error.entry
        if entry is None:
            told = say("somebody-else-has-undone-this-marking-nothing")
        else:
            told = say(
                "has-marked-this-in-meantime-points-nothing",
                who=entry.who,
                points=show(entry.points) if entry.points is not None else "0",
            )
        return told.in_(self._language)


def _find(
    session: Session, answers: tuple[AnswerToMark, ...], request: Request
) -> AnswerToMark | None:
    """Return the answer that an address names. It is text: not every digit makes a number."""
    wanted = request.path_params["attempt"], request.path_params["part"]
    named = ((each, (session.name_of(each.attempt.id), each.table.id)) for each in answers)
    return next((each for each, name in named if name == wanted), None)


def _json(content: dict[str, str], status: int = 200) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")
