"""A Canvas and a Moodle of this machine, written from their published APIs, with their failures.

Canvas: developerdocs.instructure.com (pagination by Link headers, throttling, file uploads in three
steps, submissions, overrides). Moodle: the description of its web services and `webservice/*.php`.
They keep what was written, so that a test can say what stands there after a command was killed.
"""

from __future__ import annotations

import email.parser
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlsplit

TOKEN = "7~secret0token0of0a0teacher"
Reply = tuple[int, dict[str, str], bytes]


class Request:
    """A request, its parameters of address and body in one list."""

    def __init__(self, method: str, target: str, headers: Any, body: bytes) -> None:
        parts = urlsplit(target)
        self.method, self.path, self.target, self.body = method, parts.path, target, body
        self.headers = headers
        self.query = parse_qs(parts.query)
        self.fields: dict[str, list[str]] = {key: [*each] for key, each in self.query.items()}
        self.files: dict[str, tuple[str, bytes]] = {}
        kind = headers.get("Content-Type", "")
        if kind.startswith("multipart/form-data"):
            self._take_parts(kind, body)
        elif not kind.endswith("json"):
            for key, value in parse_qsl(body.decode(), keep_blank_values=True):
                self.fields.setdefault(key, []).append(value)

    def _take_parts(self, kind: str, body: bytes) -> None:
        head = f"Content-Type: {kind}\r\n\r\n".encode()
        for part in email.parser.BytesParser().parsebytes(head + body).get_payload():
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            if part.get_filename():
                self.files[name] = (part.get_filename(), content)
            else:
                self.fields.setdefault(name, []).append(content.decode())

    def one(self, name: str, default: str = "") -> str:
        return self.fields.get(name, [default])[0]


class Site:
    """A server of this machine. `faults` are asked before each request, and may answer it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.requests: list[Request] = []
        self.writes: Counter[Any] = Counter()
        self.faults: list[Callable[[Request], Reply | None]] = []
        self.late_faults: list[Callable[[Request], Reply | None]] = []
        self.url = ""
        self.token = TOKEN

    def answer(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                if (reply := fault(request)) is not None:
                    return reply
            done = self.serve(request)
            for fault in self.late_faults:  # it was done, and nobody hears of it
                if (reply := fault(request)) is not None:
                    return reply
            return done

    def serve(self, request: Request) -> Reply:
        raise NotImplementedError


def told(content: object, status: int = 200, **headers: str) -> Reply:
    names = {key.replace("_", "-"): value for key, value in headers.items()}
    return status, {"Content-Type": "application/json", **names}, json.dumps(content).encode()


@contextmanager
def running(site: Site) -> Iterator[Site]:
    """Serve until the body of the with statement ends."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: in two, each answer waited 40 ms for the other

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except OSError:  # the client was killed
                self.close_connection = True

        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            request = Request(self.command, self.path, self.headers, self.rfile.read(length))
            status, headers, body = site.answer(request)
            if not status:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        do_POST = do_GET  # noqa: N815 - so `http.server` calls them
        do_PUT = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Canvas(Site):
    """A course 12 with an assignment 34, graded out of `points`."""

    page = 50

    def __init__(self, points: float = 10) -> None:
        super().__init__()
        self.users: list[dict[str, Any]] = []
        self.submissions: dict[int, dict[str, Any]] = {}
        self.files: dict[int, tuple[str, bytes]] = {}
        self.pending: dict[int, str] = {}
        self.assignment: dict[str, Any] = {
            "id": 34,
            "name": "Softmax",
            "points_possible": points,
            "grading_type": "points",
            "due_at": "2026-12-01T22:59:00Z",
            "overrides": [],
        }

    def enrol(self, user: int, login: str, name: str = "", sid: str | None = None) -> None:
        self.users.append(
            {
                "id": user,
                "name": name or login.title(),
                "login_id": login,
                "sis_user_id": sid,
                "email": f"{login}@example.org",
            }
        )
        self.submissions[user] = {
            "user_id": user,
            "attempt": None,
            "submitted_at": None,
            "score": None,
            "entered_score": None,
            "excused": False,
            "late": False,
            "late_policy_status": None,
            "submission_type": None,
            "attachments": [],
            "submission_comments": [],
            "rubric_assessment": {},
            "workflow_state": "unsubmitted",
        }

    def hand_in(self, user: int, at: str, *files: tuple[str, bytes], **fields: Any) -> None:
        own = self.submissions[user]
        own["attempt"] = (own["attempt"] or 0) + 1
        own |= {
            "submitted_at": at,
            "workflow_state": "submitted",
            "submission_type": "online_upload",
            "attachments": [self.store(name, content) for name, content in files],
            **fields,
        }

    def store(self, name: str, content: bytes) -> dict[str, Any]:
        number = len(self.files) + 900
        self.files[number] = (name, content)
        return self.described(number)

    def described(self, number: int) -> dict[str, Any]:
        name, content = self.files[number]
        return {
            "id": number,
            "display_name": name,
            "filename": name,
            "size": len(content),
            "content-type": "application/octet-stream",
            "url": f"{self.url}/files/{number}/download?verifier=x",
        }

    def enter(self, user: int, score: float | None) -> None:
        """Enter a grade as a person does."""
        self.submissions[user] |= {"score": score, "entered_score": score}

    def serve(self, request: Request) -> Reply:
        if match := re.fullmatch(r"/files/(\d+)/download", request.path):
            _, content = self.files[int(match[1])]
            return 200, {"Content-Type": "application/octet-stream"}, content
        if match := re.fullmatch(r"/upload/(\d+)", request.path):
            return self._receive(int(match[1]), request)
        if request.headers.get("Authorization") != f"Bearer {self.token}":
            challenge = 'Bearer realm="canvas-lms"'
            wrong = {"errors": [{"message": "Invalid access token."}]}
            return told(wrong, 401, WWW_Authenticate=challenge)
        return self._api(request)

    def _api(self, request: Request) -> Reply:
        path = request.path.removeprefix("/api/v1/")
        place = "courses/12/assignments/34"
        if path == "courses/12/users":
            return self._listing(request, self.users)
        if path == place:
            return told(self.assignment)
        if path == f"{place}/submissions":
            return self._listing(request, [self._shown(user) for user in self.submissions])
        if match := re.fullmatch(rf"{place}/submissions/(\d+)", path):
            user = int(match[1])
            if request.method == "PUT":
                self._change(user, request)
            return told(self._shown(user))
        if match := re.fullmatch(rf"{place}/submissions/(\d+)/comments/files", path):
            number = len(self.pending) + 1
            self.pending[number] = request.one("name")
            params = {"key": f"k{number}", "content-type": "text/html"}
            where = f"{self.url}/upload/{number}"
            return told({"upload_url": where, "upload_params": params})
        return told({"errors": [{"message": "The specified resource does not exist."}]}, 404)

    def _shown(self, user: int) -> dict[str, Any]:
        return self.submissions[user]

    def _listing(self, request: Request, rows: list[Any]) -> Reply:
        size = min(int(request.one("per_page", "10")), self.page)
        page = int(request.one("page", "1"))
        part = rows[(page - 1) * size : page * size]
        base = f"{self.url}{request.path}?per_page={size}"
        links = [f'<{base}&page={page}>; rel="current"', f'<{base}&page=1>; rel="first"']
        if page * size < len(rows):
            links.append(f'<{base}&page={page + 1}>; rel="next"')
        return told(part, Link=",".join(links), X_Rate_Limit_Remaining="600.0")

    def _receive(self, number: int, request: Request) -> Reply:
        assert "Authorization" not in request.headers, "the upload's own parameters suffice"
        name, content = request.files["file"]
        assert self.pending[number] == name
        return told(self.store(name, content), 201)

    def _change(self, user: int, request: Request) -> None:
        own = self.submissions[user]
        self.writes[user] += 1
        if "submission[posted_grade]" in request.fields:
            score = float(request.one("submission[posted_grade]"))
            own |= {"score": score, "entered_score": score, "workflow_state": "graded"}
        for key, values in request.fields.items():
            if match := re.fullmatch(r"rubric_assessment\[(\w+)\]\[points\]", key):
                own["rubric_assessment"][match[1]] = {"points": float(values[0])}
        if files := request.fields.get("comment[file_ids][]"):
            own["submission_comments"].append(
                {
                    "author_id": 1,
                    "comment": request.one("comment[text_comment]"),
                    "attachments": [self.described(int(each)) for each in files],
                }
            )


class Moodle(Site):
    """An assignment 7 whose page has the number 77, in course 5, graded out of `points`."""

    def __init__(self, points: float = 10) -> None:
        super().__init__()
        self.points = points
        self.users: list[dict[str, Any]] = []
        self.submissions: list[dict[str, Any]] = []
        self.flags: dict[int, int] = {}
        self.grades: dict[int, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.drafts: dict[int, list[tuple[str, bytes]]] = {}
        self.released = True
        self.functions: tuple[str, ...] = ()

    def enrol(
        self, user: int, login: str, role: str = "student", groups: tuple[int, ...] = ()
    ) -> None:
        self.users.append(
            {
                "id": user,
                "username": login,
                "fullname": login.title(),
                "idnumber": f"s{user}",
                "email": f"{login}@example.org",
                "roles": [{"roleid": 5, "shortname": role}],
                "groups": [{"id": each, "name": f"G{each}"} for each in groups],
            }
        )

    def hand_in(
        self,
        user: int,
        at: int,
        *files: tuple[str, bytes],
        group: int = 0,
        status: str = "submitted",
    ) -> None:
        listed = []
        for name, content in files:
            path = f"/webservice/pluginfile.php/{len(self.files)}/{quote(name, safe='')}"
            self.files[path] = content
            listed.append(
                {
                    "filename": name,
                    "filepath": "/",
                    "filesize": len(content),
                    "fileurl": self.url + path,
                }
            )
        area = {"area": "submission_files", "files": listed}
        self.submissions.append(
            {
                "id": len(self.submissions) + 1,
                "userid": user,
                "attemptnumber": sum(each["userid"] == user for each in self.submissions),
                "timemodified": at,
                "status": status,
                "groupid": group,
                "plugins": [{"type": "file", "name": "File submissions", "fileareas": [area]}],
            }
        )

    def enter(self, user: int, grade: float, text: str = "") -> None:
        """Grade as a person does."""
        self.grades[user] = {"grade": f"{grade:.5f}", "text": text, "files": []}

    def serve(self, request: Request) -> Reply:
        assert self.token not in request.target, "addresses are logged"
        if request.path in self.files:
            if request.one("token") != self.token:
                return self._refused("invalidtoken")
            return 200, {"Content-Type": "application/octet-stream"}, self.files[request.path]
        if request.path == "/webservice/upload.php":
            if request.one("token") != self.token:
                return self._refused("invalidtoken")
            number = len(self.drafts) + 1
            self.drafts[number] = [*request.files.values()]
            return told([{"itemid": number, "filename": n} for n, _ in self.drafts[number]])
        if request.path != "/webservice/rest/server.php":
            return 404, {}, b"not found"
        if request.one("wstoken") != self.token:
            return self._refused("invalidtoken")
        assert request.one("moodlewsrestformat") == "json"
        return told(getattr(self, request.one("wsfunction"))(request))

    def _refused(self, code: str) -> Reply:
        wrong = {"exception": "moodle_exception", "errorcode": code, "message": "Invalid token"}
        return told(wrong)

    def core_webservice_get_site_info(self, _: Request) -> object:
        from grader.lms.sync.moodle import NEEDED

        return {"userid": 2, "functions": [{"name": e} for e in self.functions or NEEDED]}

    def mod_assign_get_assignments(self, _: Request) -> object:
        config = {"subtype": "assignfeedback", "name": "enabled", "value": "1"}
        found = {
            "id": 7,
            "cmid": 77,
            "course": 5,
            "name": "Softmax",
            "duedate": 1796165940,
            "grade": self.points,
            "configs": [{"plugin": each, **config} for each in ("file", "comments")],
        }
        return {"courses": [{"id": 5, "assignments": [found]}], "warnings": []}

    def core_enrol_get_enrolled_users(self, request: Request) -> object:
        options = {}
        for n in range(5):
            options[request.one(f"options[{n}][name]")] = request.one(f"options[{n}][value]")
        start, size = int(options["limitfrom"]), int(options["limitnumber"])
        return self.users[start : start + size]

    def mod_assign_get_submissions(self, _: Request) -> object:
        return {"assignments": [{"assignmentid": 7, "submissions": self.submissions}]}

    def mod_assign_get_user_flags(self, _: Request) -> object:
        flags = [{"userid": u, "extensionduedate": due} for u, due in self.flags.items()]
        return {"assignments": [{"assignmentid": 7, "userflags": flags}], "warnings": []}

    def mod_assign_get_grades(self, _: Request) -> object:
        rows = [
            {"userid": user, "attemptnumber": 0, "grade": each["grade"], "grader": 2}
            for user, each in self.grades.items()
        ]
        return {"assignments": [{"assignmentid": 7, "grades": rows}], "warnings": []}

    def mod_assign_get_submission_status(self, request: Request) -> object:
        given = self.grades.get(int(request.one("userid")))
        if given is None or not self.released:
            return {"warnings": []}
        files = [{"filename": name, "filesize": len(content)} for name, content in given["files"]]
        comment = {"name": "comments", "description": "", "text": given["text"], "format": 1}
        plugins = [
            {"type": "comments", "name": "Feedback comments", "editorfields": [comment]},
            {
                "type": "file",
                "name": "Feedback files",
                "fileareas": [{"area": "feedback_files", "files": files}],
            },
        ]
        return {"feedback": {"grade": {"grade": given["grade"]}, "plugins": plugins}}

    def mod_assign_save_grade(self, request: Request) -> object:
        for name in ("attemptnumber", "addattempt", "workflowstate", "applytoall"):
            assert name in request.fields, f"{name} is required"
        assert request.one("assignmentid") == "7"
        user = int(request.one("userid"))
        self.writes[user] += 1
        before = self.grades.get(user, {"text": "", "files": []})
        draft = request.one("plugindata[files_filemanager]")
        self.grades[user] = {
            "grade": f"{float(request.one('grade')):.5f}",
            "text": request.one("plugindata[assignfeedbackcomments_editor][text]", before["text"]),
            "files": self.drafts[int(draft)] if draft else before["files"],
        }
        return None
