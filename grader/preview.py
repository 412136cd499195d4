"""The pages of `grader preview`: what there is to see of an assignment, anew when a file changes.

A template and a release are made at once; a notebook that is graded takes seconds, so that is done
beside, one at a time, and the newest that somebody has asked for comes first.
"""

from __future__ import annotations

import functools
import hashlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace
from nbformat import NotebookNode
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from grader.authoring.master import ENGLISH, FORMATS, find_master, master_languages, read_master
from grader.authoring.mutants import apply_declared, load_declared
from grader.authoring.subject import Notebooks
from grader.authoring.template import make_template, notebook_bytes
from grader.course import CourseAssignment, load_course
from grader.errors import GraderError
from grader.evidence.registry import find_check
from grader.grading.pipeline import grade
from grader.grading.preparation import Preparation, Settings
from grader.grading.spelling import find_respelling
from grader.language import NOTHING, Text, foreign, say
from grader.loopback import Guard
from grader.progress import Silent
from grader.reading.submission import SubmissionFile
from grader.release.write import public_files
from grader.render.html.local_pages import (
    PREVIEW_SCRIPT,
    PREVIEW_STYLE,
    render_files,
    render_frames,
    render_notebook,
    render_told,
)
from grader.render.html.page import asset
from grader.report import Report

_Made = TypeVar("_Made")

REFERENCE = ""
"""The name of the mutant that is none: the solved notebook as it is."""

_SHOWN = (".json", ".md", ".py", ".toml")


class NotShown(NamedTuple):
    """Why something cannot be shown, and what to do about it."""

    reason: Text
    hint: Text


class PreviewChoices(NamedTuple):
    """What can be chosen: the master's languages, and mutants, each by its id and what it is."""

    languages: tuple[str, ...]
    mutants: tuple[tuple[str, str], ...]


class _Wanted(NamedTuple):
    """Which notebook is to be graded: a mutant, of the files in one state."""

    stamp: str
    mutant: str


class PreviewSession:
    """One assignment of the course at `root`. Speed is measured only if that is asked for."""

    def __init__(self, root: Path, slug: str, settings: Settings, *, is_timed: bool) -> None:
        self._root = root
        self._slug = slug
        self._settings = settings
        self._is_timed = is_timed
        self._graded: dict[_Wanted, Report | NotShown] = {}
        self._asked: _Wanted | None = None
        self._worker: threading.Thread | None = None
        self._is_closed = False
        self._lock = threading.Lock()

    def close(self) -> None:
        """Grade nothing more. What is being graded fails as soon as the sandbox is closed."""
        with self._lock:
            self._is_closed, self._asked = True, None

    def join(self) -> None:
        """Wait until nothing is graded any more."""
        worker = self._worker
        if worker is not None:
            worker.join()

    def stamp(self) -> str:
        """Return a digest of the names, the times and the sizes of the assignment's files."""
        folder = self._root / "assignments" / self._slug
        masters = (self._root / "reference" / f"{self._slug}{end}" for end in FORMATS)
        found = hashlib.sha256()
        for path in sorted([*folder.rglob("*"), *masters]):
            if path.suffix in FORMATS or path.suffix in _SHOWN:
                found.update(_state(path))
        return found.hexdigest()[:16]

    def choice(self) -> PreviewChoices | NotShown:
        """Return what can be chosen."""
        return self._tried(self._choice)

    def template(self, language: str) -> NotebookNode | NotShown:
        """Return what students start from, in a language or in English where it has no such one."""
        return self._tried(lambda chosen: self._template(chosen, language))

    def release(self) -> dict[str, str] | NotShown:
        """Return the assignment's files that students may have, by their names in a release."""
        return self._tried(
            lambda chosen: {
                name: content.decode("utf-8", "replace")
                for name, content in public_files(chosen).items()
            }
        )

    def graded(self, mutant: str) -> Report | NotShown | None:
        """Return the report of a mutant, None while it is made: it is asked for then."""
        wanted = _Wanted(self.stamp(), mutant)
        with self._lock:
            if wanted in self._graded:
                return self._graded[wanted]
            if self._is_closed:
                return None
            self._asked = wanted
            if self._worker is None:
                self._worker = threading.Thread(target=self._work)
                self._worker.start()
        return None

    def _work(self) -> None:
        while True:
            with self._lock:
                wanted, self._asked = self._asked, None
                if wanted is None:
                    self._worker = None
                    return
            found = self._tried(functools.partial(self._grade, mutant=wanted.mutant))
            with self._lock:
                if self.stamp() == wanted.stamp:
                    self._graded = {
                        key: each for key, each in self._graded.items() if key.stamp == wanted.stamp
                    } | {wanted: found}

    def _tried(self, make: Callable[[CourseAssignment], _Made]) -> _Made | NotShown:
        try:
            return make(load_course(self._root).get(self._slug))
        except GraderError as error:
            return NotShown(error.message, error.hint)
        except OSError as error:  # a file that an editor is writing
            return NotShown(foreign(str(error)), say("save-again"))
        except ValueError as error:
            # What is being graded when the command ends finds its processes gone.
            if not self._is_closed:
                raise
            return NotShown(foreign(str(error)), NOTHING)

    def _choice(self, chosen: CourseAssignment) -> PreviewChoices:
        master = read_master(find_master(self._root, self._slug))
        mutants = ((each.id, each.about) for each in load_declared(chosen))
        return PreviewChoices(master_languages(master), ((REFERENCE, ""), *mutants))

    def _template(self, chosen: CourseAssignment, language: str) -> NotebookNode:
        master = read_master(find_master(self._root, self._slug))
        known = language if language in master_languages(master) else ENGLISH
        return make_template(master, self._slug, chosen.assignment.version, known)

    def _grade(self, chosen: CourseAssignment, mutant: str) -> Report:
        notebook = Notebooks(self._root, chosen).reference
        for each in load_declared(chosen):
            if each.id == mutant:
                notebook = apply_declared(each, notebook)
        digest = hashlib.sha256(notebook_bytes(notebook)).hexdigest()
        name = f"{mutant or 'reference'}.ipynb"
        submission = SubmissionFile(name, digest, notebook, respelling=find_respelling(notebook))
        prepared = Preparation(chosen if self._is_timed else _untimed(chosen), self._settings)
        return grade(submission, prepared, Silent())


def _state(path: Path) -> bytes:
    try:
        status = path.stat()
    except OSError:
        return b""
    return f"{path}\0{status.st_mtime_ns}\0{status.st_size}\0".encode("utf-8", "surrogateescape")


def _untimed(chosen: CourseAssignment) -> CourseAssignment:
    """Return an assignment whose speed is measured elsewhere, as in a release."""
    chosen.load_checks()
    assignment = chosen.assignment
    parts = tuple(
        replace(
            part,
            check=tuple(
                replace(table, required=False, withheld=True)
                if "timing" in find_check(table).needs
                else table
                for table in part.check
            ),
        )
        for part in assignment.part
    )
    return replace(chosen, assignment=replace(assignment, part=parts))


# The pages: a frame for the template, one for the release, one for a notebook that is graded.


REPORT_POLICY: Final = (
    "sandbox allow-same-origin; default-src 'none'; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""What a report's page may do: it has its style in itself, and no script."""


def make_preview(session: PreviewSession, language: str, token: str, port: int) -> ASGIApp:
    """Return the application, for a server that listens on a port of this machine."""
    pages = _Pages(session, language)
    style, script = asset("preview.css"), asset("preview.js")
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
    def __init__(self, session: PreviewSession, language: str) -> None:
        self._session = session
        self._language = language

    def frames(self, request: Request) -> Response:
        """Show all three side by side."""
        choice = self._session.choice()
        if isinstance(choice, NotShown):  # the frames say why
            choice = PreviewChoices((self._language,), ((REFERENCE, ""),))
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
        if isinstance(found, NotShown):
            return self._told(*found)
        return HTMLResponse(render_notebook(found, self._language))

    def release(self, _: Request) -> Response:
        """Show the files that students may have."""
        found = self._session.release()
        if isinstance(found, NotShown):
            return self._told(*found)
        return HTMLResponse(render_files(found, self._language))

    def graded(self, request: Request) -> Response:
        """Show the page of a notebook that is graded, as its student sees it."""
        found = self._session.graded(request.query_params.get("mutant", REFERENCE))
        if found is None:
            return self._told(say("being-graded"), say("page-opens-by-itself"))
        if isinstance(found, NotShown):
            return self._told(*found)
        page = found.render("html", language=self._language)
        return HTMLResponse(page, headers={"Content-Security-Policy": REPORT_POLICY})

    def _told(self, reason: Text, hint: Text) -> Response:
        return HTMLResponse(render_told(reason, hint, self._language))


def _one_of(asked: str | None, known: list[str] | tuple[str, ...], otherwise: str) -> str:
    return asked if asked is not None and asked in known else otherwise
