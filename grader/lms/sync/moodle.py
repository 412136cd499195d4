"""Moodle by its web services. The token goes in the body of a request: addresses are logged."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec

from grader.errors import LmsError
from grader.language import ENGLISH, LANGUAGES, in_a_row, say
from grader.lms.choices import Key, Platform
from grader.lms.sync.platform import (
    COMMENT,
    MOST_POINTS,
    PAGE,
    LmsAssignment,
    LmsFile,
    LmsHandIn,
    LmsPerson,
    Points,
    PushedGrade,
    Standing,
    page_name,
    plain,
)
from grader.lms.sync.session import LmsSession, decoded, token_refused, unreadable

NEEDED = (
    "core_webservice_get_site_info",
    "core_enrol_get_enrolled_users",
    "mod_assign_get_assignments",
    "mod_assign_get_submissions",
    "mod_assign_get_grades",
    "mod_assign_get_user_flags",
    "mod_assign_get_submission_status",
    "mod_assign_save_grade",
)
"""Functions that the token's service must have."""

_DEFINITIONS = "core_grading_get_definitions"
_PAGE_OF_USERS = 500
_MOST_USERS = 100_000
_HTML = "1"
_EXPIRED = frozenset({"invalidtoken", "accessexception", "invalidtimedtoken"})


class _Function(msgspec.Struct, frozen=True):
    name: str


class _Site(msgspec.Struct, frozen=True):
    functions: tuple[_Function, ...] = ()


class _Config(msgspec.Struct, frozen=True):
    plugin: str
    subtype: str
    name: str
    value: str | None = None


class _Assignment(msgspec.Struct, frozen=True):
    id: int
    cmid: int
    course: int
    name: str
    duedate: int = 0
    grade: Points = 0
    configs: tuple[_Config, ...] = ()


class _Course(msgspec.Struct, frozen=True):
    assignments: tuple[_Assignment, ...] = ()


class _Courses(msgspec.Struct, frozen=True):
    courses: tuple[_Course, ...] = ()


class _Role(msgspec.Struct, frozen=True):
    shortname: str = ""


class _Group(msgspec.Struct, frozen=True):
    id: int


class _User(msgspec.Struct, frozen=True):
    id: int
    fullname: str = ""
    username: str = ""
    idnumber: str = ""
    email: str = ""
    roles: tuple[_Role, ...] = ()
    groups: tuple[_Group, ...] = ()


class _File(msgspec.Struct, frozen=True):
    filename: str
    filepath: str = "/"
    filesize: int = 0
    fileurl: str = ""


class _Area(msgspec.Struct, frozen=True):
    area: str
    files: tuple[_File, ...] = ()


class _Editor(msgspec.Struct, frozen=True):
    name: str = ""
    text: str = ""


class _Plugin(msgspec.Struct, frozen=True):
    type: str
    fileareas: tuple[_Area, ...] = ()
    editorfields: tuple[_Editor, ...] = ()


class _Submission(msgspec.Struct, frozen=True):
    userid: int
    timemodified: int
    status: str = ""
    attemptnumber: int = 0
    groupid: int = 0
    plugins: tuple[_Plugin, ...] = ()


class _Flag(msgspec.Struct, frozen=True):
    userid: int
    extensionduedate: int = 0


class _Grade(msgspec.Struct, frozen=True):
    userid: int
    grade: str = ""
    attemptnumber: int = 0


class _Rows(msgspec.Struct, frozen=True):
    submissions: tuple[_Submission, ...] = ()
    grades: tuple[_Grade, ...] = ()
    userflags: tuple[_Flag, ...] = ()


class _Listed(msgspec.Struct, frozen=True):
    assignments: tuple[_Rows, ...] = ()


class _Given(msgspec.Struct, frozen=True):
    grade: str | None = None


class _Feedback(msgspec.Struct, frozen=True):
    grade: _Given | None = None
    plugins: tuple[_Plugin, ...] = ()


class _Status(msgspec.Struct, frozen=True):
    feedback: _Feedback | None = None


class _Draft(msgspec.Struct, frozen=True):
    itemid: int


class _GradingArea(msgspec.Struct, frozen=True):
    areaname: str = ""
    activemethod: str | None = None


class _GradingAreas(msgspec.Struct, frozen=True):
    areas: tuple[_GradingArea, ...] = ()


class MoodlePlatform:
    """One assignment of Moodle. `root` is the site's address, which may have a folder."""

    name: Platform = "moodle"
    key: Key = "moodle_user"
    is_brief = True
    is_loose = False

    def __init__(self, session: LmsSession, root: str, module: int) -> None:
        self._session, self._root, self._module = session, root, module
        self._found: _Assignment | None = None
        self._brief: dict[str, Standing] = {}
        self._functions: frozenset[str] = frozenset()

    def assignment(self) -> LmsAssignment:
        """Return what the assignment is."""
        found = self._known()
        listed = self._listed("mod_assign_get_user_flags").userflags
        decides = self._has_form()
        return LmsAssignment(
            found.name,
            Decimal(repr(found.grade)) if found.grade > 0 and not decides else None,
            _moment(found.duedate) if found.duedate else None,
            {str(e.userid): _moment(e.extensionduedate) for e in listed if e.extensionduedate},
            takes_pages=_is_on(found, "file"),
        )

    def people(self) -> tuple[LmsPerson, ...]:
        """Return who is enrolled and no teacher."""
        found: list[_User] = []
        course = self._known().course
        while len(found) < _MOST_USERS:
            options = {"onlyactive": 1, "limitfrom": len(found), "limitnumber": _PAGE_OF_USERS}
            page = self._call(
                tuple[_User, ...],
                "core_enrol_get_enrolled_users",
                courseid=course,
                options=[{"name": name, "value": value} for name, value in options.items()],
            )
            found += page
            if len(page) < _PAGE_OF_USERS:
                break
        return tuple(
            LmsPerson(
                str(e.id),
                e.fullname,
                e.username,
                e.idnumber,
                e.email,
                tuple(g.id for g in e.groups),
            )
            for e in {each.id: each for each in found}.values()
            if not e.roles or any(role.shortname == "student" for role in e.roles)
        )

    def handed_in(self) -> tuple[LmsHandIn, ...]:
        """Return the latest attempt of everybody; what a group handed in is each member's."""
        found = self._listed("mod_assign_get_submissions").submissions
        in_order = sorted(found, key=lambda each: (each.attemptnumber, each.timemodified))
        submitted = (each for each in in_order if each.status == "submitted")
        latest = {(each.userid, each.groupid): each for each in submitted}
        members: dict[int, list[str]] = {}
        if any(not each.userid for each in latest.values()):
            for person in self.people():
                for group in person.groups:
                    members.setdefault(group, []).append(person.user)
        return tuple(
            _hand_in(each, user)
            for each in latest.values()
            for user in ([str(each.userid)] if each.userid else members.get(each.groupid, ()))
        )

    def download(self, file: LmsFile, target: Path, limit: int) -> None:
        """Write a file that was handed in."""
        self._session.download(file.url, target, limit, {"token": self._session.token.reveal()})

    def standings(self) -> Mapping[str, Standing]:
        """Return the points that stand there, by user, without what was said to them."""
        grades = sorted(self._listed("mod_assign_get_grades").grades, key=lambda e: e.attemptnumber)
        self._brief = {str(each.userid): Standing(_points(each.grade)) for each in grades}
        return self._brief

    def standing(self, user: str) -> Standing:
        """Return what stands there of one student. While marking goes on, the listing tells it."""
        found = self._call(
            _Status, "mod_assign_get_submission_status", assignid=self._known().id, userid=user
        )
        if found.feedback is None:
            return self._brief.get(user, Standing())
        given = found.feedback.grade
        files = [*_files(found.feedback.plugins, "feedback_files")]
        texts = [e.text for p in found.feedback.plugins for e in p.editorfields]
        pages = frozenset(match[1] for e in files if (match := PAGE.fullmatch(e.filename)))
        return Standing(
            None if given is None else _points(given.grade or ""),
            pages=pages,
            remarks=any(not PAGE.fullmatch(e.filename) for e in files)
            or any(plain(text) not in _OURS for text in texts),
        )

    def write(self, user: str, standing: Standing, grade: PushedGrade, page: bytes) -> None:
        """Write points, comment and page by one request, which may be sent twice."""
        del standing
        data: dict[str, Any] = {}
        if grade.comment and _is_on(self._known(), "comments"):
            editor = {"text": f"<p>{grade.comment}</p>", "format": _HTML}
            data["assignfeedbackcomments_editor"] = editor
        if grade.page:
            data["files_filemanager"] = self._send_page(page_name(grade.page), page)
        self._call(
            object,
            "mod_assign_save_grade",
            assignmentid=self._known().id,
            userid=user,
            grade=format(grade.points, "f"),
            attemptnumber=-1,
            addattempt=0,
            workflowstate="",
            applytoall=0,
            plugindata=data,
        )

    def _send_page(self, name: str, page: bytes) -> int:
        answer = self._session.post(
            f"{self._root}/webservice/upload.php",
            data={"token": self._session.token.reveal(), "filearea": "draft", "itemid": "0"},
            files={"file_1": (name, page, "text/html")},
            follows=False,
        )
        drafts: tuple[_Draft, ...] = _decoded(answer.json(), tuple[_Draft, ...])
        if not drafts:
            raise unreadable()
        return drafts[0].itemid

    def _known(self) -> _Assignment:
        """Return the assignment of the page. Raises LmsError where the token shows no such."""
        if self._found is None:
            self._demand_functions()
            courses = self._call(_Courses, "mod_assign_get_assignments").courses
            found = [e for course in courses for e in course.assignments if e.cmid == self._module]
            if not found:
                raise LmsError(
                    say("lms-does-not-find"), say("check-address-and-whether-tokens-owner")
                )
            self._found = found[0]
        return self._found

    def _demand_functions(self) -> None:
        site = self._call(_Site, "core_webservice_get_site_info")
        self._functions = frozenset(each.name for each in site.functions)
        missing = [name for name in NEEDED if name not in self._functions]
        if missing:
            raise LmsError(
                say("tokens-service-lacks", names=in_a_row(missing)),
                say("ask-sites-administrator-add-them-external-service"),
            )

    def _has_form(self) -> bool:
        """Say whether grades are given by a rubric or guide there, which points alone are not."""
        if _DEFINITIONS not in self._functions:
            return False
        areas = self._call(
            _GradingAreas, _DEFINITIONS, cmids=[self._module], areaname="submissions", activeonly=1
        ).areas
        return any(each.activemethod for each in areas)

    def _listed(self, function: str) -> _Rows:
        found = self._call(_Listed, function, assignmentids=[self._known().id]).assignments
        return found[0] if found else _Rows()

    def _call(self, kind: Any, function: str, **parameters: Any) -> Any:
        data = {
            "wstoken": self._session.token.reveal(),
            "wsfunction": function,
            "moodlewsrestformat": "json",
            **dict(_flat("", parameters)),
        }
        place = f"{self._root}/webservice/rest/server.php"
        return _decoded(self._session.post(place, data=data, follows=False).json(), kind)


def root_of(url: str) -> str:
    """Return the address of a site, of a page of it: what stands before `/mod/`."""
    path = urlsplit(url).path
    return path[: path.index("/mod/")] if "/mod/" in path else ""


def _decoded(told: object, kind: Any) -> Any:
    if isinstance(told, dict) and "errorcode" in told:
        code = str(told["errorcode"])[:80]
        if code in _EXPIRED:
            raise token_refused()
        raise LmsError(
            say("moodle-refuses-request", code=code),
            say("check-tokens-permissions-and-assignments-settings"),
        )
    return told if kind is object else decoded(told, kind)


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield parameters as forms have them: `options[0][name]`."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _flat(f"{name}[{key}]" if name else key, each)
    elif isinstance(value, (list, tuple)):
        for at, each in enumerate(value):
            yield from _flat(f"{name}[{at}]", each)
    else:
        yield name, str(value)


def _is_on(found: _Assignment, plugin: str) -> bool:
    return any(
        (e.subtype, e.plugin, e.name, e.value) == ("assignfeedback", plugin, "enabled", "1")
        for e in found.configs
    )


def _hand_in(each: _Submission, user: str) -> LmsHandIn:
    files = tuple(
        LmsFile(
            f"{file.filepath.strip('/')}/{file.filename}".lstrip("/"), file.fileurl, file.filesize
        )
        for file in _files(each.plugins, "submission_files")
    )
    return LmsHandIn(user, _moment(each.timemodified), files)


def _files(plugins: tuple[_Plugin, ...], area: str) -> Iterator[_File]:
    for plugin in plugins:
        for each in plugin.fileareas:
            if each.area == area:
                yield from each.files


def _moment(seconds: int) -> datetime:
    """Return a time. Raises LmsError for one that no calendar has."""
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError, OSError):
        raise unreadable() from None


def _points(text: str) -> Decimal | None:
    """Return a grade, None for none: Moodle has -1 for that."""
    try:
        value = Decimal(text)
    except ArithmeticError:
        return None
    if not value.is_finite() or value < 0:
        return None
    if value > MOST_POINTS:
        raise unreadable()
    return value.normalize()


_OURS = frozenset({"", *(COMMENT.in_(each) for each in {ENGLISH, *LANGUAGES})})
