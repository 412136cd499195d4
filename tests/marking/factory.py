"""A class whose answers are to be marked: reports in a gradebook, as gradings leave them."""

from __future__ import annotations

import base64
import hashlib
import struct
import zlib
from datetime import datetime, timezone
from pathlib import Path

import msgspec

from grader.course import load_course
from grader.gradebook.book import Gradebook, HandedIn, Recording
from grader.gradebook.entries import RosterEntry, Student, find_student, plan
from grader.gradebook.grades import Grade, derive_all
from grader.language import foreign
from grader.report import AssignmentId, Cell, CellOutput, Check, Part, Report, Submission
from tests.sample_reports import typical

COURSE = Path(__file__).parents[1] / "courses" / "written"
ASSIGNMENT = load_course(COURSE).get("written").assignment
GRADED = datetime(2026, 12, 2, tzinfo=timezone.utc)

HOSTILE = (
    "<script>document.title = 'pwned'</script>\n\n"
    '<img src="https://evil.example/x.png" onerror="document.title = \'pwned\'">\n\n'
    "[a link](javascript:document.title='pwned') ![an image](https://evil.example/y.png)\n\n"
    "<form action='https://evil.example'><input name='memory' type='checkbox' data-key='1'></form>"
)


def png(width: int = 120, height: int = 60) -> str:
    """Return an image of one colour, in base64."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + b"\x4c\x78\xa8" * width) * height
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def report_of(content: bytes, answer: str, score: float = 8.0) -> Report:
    """Return the report of a notebook: 10 points are graded, and 10 are a person's to give."""
    check = Check("equivalence", foreign("Same outputs"), score, 10.0, "passed", foreign("All."))
    plotted = CellOutput("image", png())
    cells = (
        Cell("markdown", "# A layer"),
        Cell("code", "def create_model():\n    return bb.get()", 1, 3),
        Cell("markdown", answer),
        Cell("code", "# times-plot\nplt.plot(times)", 2, 9, (plotted,)),
    )
    why, plot = ASSIGNMENT.manual
    return msgspec.structs.replace(
        typical(),
        score=score,
        max_score=10.0,
        assignment=AssignmentId("written", ASSIGNMENT.named, 1),
        submission=Submission("hw.ipynb", hashlib.sha256(content).hexdigest(), 2, 2),
        parts=(
            Part("model", foreign("The layer"), score, 10.0, (check,)),
            Part(why.id, why.named, 0.0, 0.0, (), open=why.points, answer=(2,)),
            Part(plot.id, plot.named, 0.0, 0.0, (), open=plot.points, answer=(3,)),
        ),
        problems=(),
        timing=None,
        notes=(),
        cells=cells,
        graded=GRADED,
    )


def hand_in(book: Gradebook, student: Student, answer: str, score: float = 8.0) -> None:
    """Record a notebook with an answer, and its report."""
    content = f"{student.login}: {answer}".encode()
    given = HandedIn(student.id, "written", "hw.ipynb", content)
    book.record_all([Recording(given, report_of(content, answer, score))])


def enrol(book: Gradebook, **names: str) -> dict[str, Student]:
    """Put students into the roster, by logins and names."""
    entries = [RosterEntry(login, {"name": name}, {}) for login, name in names.items()]
    book.change_students(plan(book.students(), entries))
    return {login: find_student(book.students(), login) for login in names}


def make_class(book: Gradebook) -> None:
    """Let three students hand in."""
    book.take_rules([ASSIGNMENT])
    known = enrol(book, ada="Ada Lovelace", bob="Bob Hope", leilei="李雷")
    hand_in(
        book, known["ada"], "The values of `lv0` stay in **registers**.\n\n* 12 ms before\n* 7 ms"
    )
    hand_in(book, known["bob"], HOSTILE)
    hand_in(book, known["leilei"], "中间结果不再写入内存。")


def grade_of(book: Gradebook, login: str) -> Grade:
    """Return a student's grade."""
    student = find_student(book.students(), login)
    return derive_all(book.accounts(student.id)[student.id].values())["written"]
