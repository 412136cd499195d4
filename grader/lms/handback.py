"""What goes back to students: grades and pages, from a folder of reports or a gradebook.

A report of a folder belongs to the student in whose folder its submission lies. Where the
submissions were made by `grader collect`, its manifest says who that is, and which attempt it is.
"""

import hashlib
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec

from grader.api import REPORT_LIMIT, refuse_other_version
from grader.batch.collect import name_reports
from grader.batch.grading import SUMMARY
from grader.errors import UsageError
from grader.language import say
from grader.lms.choices import Packed
from grader.lms.collect import Collected, CollectedStudent, digest_of_file
from grader.lms.export import ExportedGrade
from grader.lms.nbgrader import feedback_files, note_of
from grader.render.asking import AskAddress
from grader.render.audience import shown
from grader.render.final_grade import FinalGrade
from grader.report import Report, decode_report, encode_report

# Whose a report is, and which attempt of theirs it grades, by what was collected.


def attempt_number(collected: Path, student: CollectedStudent, sha256: str) -> int | None:
    """Return which of a student's attempts has a file of this digest, counted from 1.

    The last one where several have. None where none does, as where it has been collected again
    since it was graded into another folder: a number is certain, or is not told.
    """
    for number, attempt in reversed([*enumerate(student.attempts, start=1)]):
        files = sorted((collected / attempt.folder).rglob("*"))
        if any(_digest(path) == sha256 for path in files):
            return number
    return None


def _digest(path: Path) -> str:
    """Return the SHA-256 of a file; of what is none, or a link, it is empty."""
    return "" if path.is_symlink() or not path.is_file() else digest_of_file(path).hex()


_DATE = (1980, 1, 1, 0, 0, 0)
"""The earliest that an archive can hold: the same pages make the same archive."""

_PAGE = "report.html"


class GradedWork(msgspec.Struct, frozen=True):
    """A student's report, and what was collected of the student; None where nothing was.

    `folder` is the student's, or what the gradebook calls the student. `read` returns the report:
    those of a large class are not to be in memory at once. `attempt` is which of the student's it
    is, counted from 1; None where that is not known. `final` is the grade that the gradebook makes
    of it; a folder of reports says nothing of that. `open` are points that a person has yet to
    give. `ask_at` is where students ask, as the course has it.
    """

    folder: str
    read: Callable[[], Report]
    student: CollectedStudent | None
    attempt: int | None = None
    name: str = ""
    final: FinalGrade | None = None
    open: float = 0.0
    ask_at: str = ""

    @property
    def whose(self) -> str:
        """The name of whoever handed it in, as far as it is known."""
        return self.name or ("" if self.student is None else self.student.name) or self.folder


class Works(msgspec.Struct, frozen=True):
    """The work of a class. `several` have more than one report, so that none of them counts."""

    each: tuple[GradedWork, ...]
    ungraded: tuple[str, ...] = ()
    several: tuple[str, ...] = ()


def read_works(
    reports: Path, collected: Collected, folder: Path | None = None, slug: str | None = None
) -> Works:
    """Read a folder of reports as `grader batch` writes it. Raises UsageError for any other.

    `folder` is the one into which was `collected`, where attempts are known by their files. With a
    `slug`, reports of other assignments are left out.
    """
    students = {each.folder: each for each in collected.students}
    graded: dict[str, list[GradedWork]] = {}
    for path, name in report_files(reports):
        report = read_report(path)
        if slug is None or report.graded is None or report.assignment.slug == slug:
            own = graded.setdefault(name, [])
            own += _graded(report, path, name, students.get(name), folder)
    return Works(
        tuple(own[0] for own in graded.values() if len(own) == 1),
        tuple(name for name, own in graded.items() if not own),
        tuple(name for name, own in graded.items() if len(own) > 1),
    )


def _graded(
    report: Report, path: Path, name: str, student: CollectedStudent | None, folder: Path | None
) -> Iterator[GradedWork]:
    """Yield the work that a report is of, if it says that something was graded."""
    if report.graded is None:
        return
    number = None
    if folder is not None and student is not None:
        number = attempt_number(folder, student, report.submission.sha256)
    yield GradedWork(name, partial(read_report, path), student, number, open=report.open)


def report_files(reports: Path) -> list[tuple[Path, str]]:
    """Return the reports of `grader batch`, each with its student's folder. Raises UsageError."""
    if not (reports / SUMMARY).is_file():
        raise UsageError(
            say("not-folder-reports-has", reports=str(reports), file=SUMMARY),
            say("name-output-folder-grader-batch"),
        )
    return [
        (path, path.relative_to(reports).with_suffix("").parts[0])
        for path in sorted(reports.rglob("*.json"))
        if path != reports / SUMMARY
    ]


def read_report(path: Path) -> Report:
    """Return the report of a file. Raises UsageError for anything else."""
    content = b""
    try:
        with path.open("rb") as file:
            content = file.read(REPORT_LIMIT + 1)
        if len(content) > REPORT_LIMIT:
            raise msgspec.ValidationError("it is too large")
        return decode_report(content)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        refuse_other_version(content, str(path))
        raise UsageError(
            say("not-report", path=str(path)), say("remove-file-that-is-no-report")
        ) from None


def grades_of(works: Works) -> tuple[list[ExportedGrade], tuple[str, ...]]:
    """Return everybody's grade, all points of the report, hidden ones as well; and who has none.

    That is who is still to be marked by a person: what is open is no lost point.
    """
    grades, unmarked = [], []
    for work in works.each:
        report = work.read()
        if report.open:
            unmarked.append(work.folder)
        else:
            grades.append(_grade(work, report))
    return grades, tuple(unmarked)


def _grade(work: GradedWork, report: Report) -> ExportedGrade:
    student = work.student
    points, most = Decimal(str(report.score)), Decimal(str(report.max_score))
    return ExportedGrade(
        student=work.folder if student is None else student.id or student.folder,
        name="" if student is None else student.name,
        points=points,
        max_points=most,
        keys={} if student is None else student.keys,
    )


def student_page(work: GradedWork, now: datetime) -> bytes:
    """Return a student's page: what students may see at this time, as HTML.

    The grade is part of it, with how it comes about, as soon as no check's points are kept back:
    its sums would tell them.
    """
    from grader.render.html import render_html  # not to know whose a report is, and slow

    report, final = _shown_page(work, now)
    return render_html(report, work.whose, work.attempt, final, _ask_address(work, report))


def page_digest(work: GradedWork, now: datetime) -> str:
    """Return a digest of what a student's page says: a newer look of it is no other page."""
    report, final = _shown_page(work, now)
    lines = [] if final is None else [each.english for each in final.lines]
    told: tuple[object, ...] = (
        work.whose,
        work.attempt,
        final is not None and final.is_told,
        lines,
    )
    if final is not None and final.objections:
        told += (_told_questions(final),)
    if work.ask_at:
        told += (work.ask_at,)
    return hashlib.sha256(encode_report(report) + repr(told).encode()).hexdigest()


def _told_questions(final: FinalGrade) -> list[tuple[object, ...]]:
    return [
        (asked.part, asked.text.english, *((e.text.english, e.points) for e in asked.replies))
        for asked in final.objections
    ]


def _ask_address(work: GradedWork, report: Report) -> AskAddress | None:
    """Return where a student asks; None where the course says nothing of it.

    The student is called as the roster does: what was collected, or the gradebook, says so.
    """
    if not work.ask_at:
        return None
    student = work.folder if work.student is None else work.student.id or work.folder
    return AskAddress(work.ask_at, report.assignment.slug, student)


def _shown_page(work: GradedWork, now: datetime) -> tuple[Report, FinalGrade | None]:
    whole = work.read()
    report = shown(whole, "student", now)
    final = work.final
    if final is not None and report.max_score != whole.max_score:
        final = final._replace(is_told=False)
    return report, final


def pack_pages(
    works: Iterable[GradedWork], form: Packed, now: datetime, collected: Path | None = None
) -> tuple[bytes, tuple[str, ...]]:
    """Return an archive of students' pages under the names by which a system knows whose they are.

    Moodle: `Ada Lovelace_1234_assignfeedback_file_/report.html`, taken by "Upload multiple feedback
    files in a zip". Canvas: the name of the submission, `lovelaceada_1234_5678_hw.html`, taken by
    "Upload submissions". nbgrader: `feedback/ada/hw/hw.html` with the notes that
    `nbgrader release_feedback` needs, unpacked in the course's folder; the attempt is found by its
    file in the folder that was `collected` into. Who was collected from elsewhere is not in it, and
    is named.
    """
    buffer, left_out = io.BytesIO(), []
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for work in works:
            files = _packed_files(work, form, partial(student_page, work, now), collected)
            left_out += [] if files else [work.folder]
            for name, content in files.items():
                entry = zipfile.ZipInfo(name, _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, content)
    return buffer.getvalue(), tuple(left_out)


def _packed_files(
    work: GradedWork, form: Packed, page: Callable[[], bytes], collected: Path | None
) -> Mapping[str, bytes]:
    """Return a page by the name that a system knows; nothing where it knows none."""
    if work.student is None:
        return {}
    if form == "nbgrader":
        return _files_of_nbgrader(work, work.student, page, collected)
    if form not in work.student.keys:
        return {}
    if form == "canvas":
        given = work.student.attempts[-1].given
        return {f"{given.rpartition('.')[0] or given}.html": page()} if given else {}
    # Moodle takes what stands between the first underscores for its number.
    name = (work.student.name or work.whose).replace("_", " ").replace("/", " ")
    return {f"{name}_{work.student.keys['moodle']}_assignfeedback_file_/{_PAGE}": page()}


def _files_of_nbgrader(
    work: GradedWork, student: CollectedStudent, page: Callable[[], bytes], collected: Path | None
) -> Mapping[str, bytes]:
    """Return a page and notes of the attempt that it is of, which the notebook tells."""
    if collected is None:
        return {}
    submission = work.read().submission
    number = attempt_number(collected, student, submission.sha256)
    note = None if number is None else note_of(student.attempts[number - 1].given)
    if note is None:
        return {}
    notebook = PurePosixPath(submission.name).stem
    return feedback_files(student.keys["folder"], note, notebook, page())


def page_names(works: Iterable[GradedWork]) -> Mapping[str, str]:
    """Return the file name of each student's page, by the student's folder."""
    names = name_reports(work.folder for work in works)
    return {folder: f"{name}.html" for folder, name in names.items()}
