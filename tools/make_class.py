"""Write `examples/class`: a made-up class of thirty, as each learning management system packs it.

    python tools/make_class.py            write it
    python tools/make_class.py --check    write nothing; exit 1 where it is stale

What the students hand in are the examples of e2e-mlp, whose points are known. Nobody in it exists.
"""

from __future__ import annotations

import argparse
import csv
import io
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
CLASS = Path("examples") / "class"
EXAMPLES = ROOT / "examples" / "e2e-mlp"
SLUG = "e2e-mlp"
DUE = datetime(2026, 12, 1, 23, 0, tzinfo=timezone.utc)
"""When it is due: the times of what was handed in lie around it."""

Files = dict[str, bytes]


class Student(NamedTuple):
    """One of the class, and what was handed in.

    `given` and `family` are the name, `number` what an LMS counts by. `example` is the notebook,
    empty where there is none; `earlier` is one that was handed in a day before it. `hours` is how
    late it came, negative where it came in time. `together` is whom it was handed in with.
    """

    login: str
    given: str
    family: str
    number: int
    example: str
    hours: float = -20
    earlier: str = ""
    together: str = ""

    @property
    def name(self) -> str:
        """The name as it is written: in Chinese and Korean the family's comes first."""
        pair = (self.given, self.family)
        return " ".join(filter(None, reversed(pair) if self.family > "\u2e80" else pair))

    @property
    def section(self) -> str:
        """The section: there are three."""
        return "ABC"[self.number % 3]

    @property
    def email(self) -> str:
        """An address that can belong to nobody."""
        return f"{self.login}@students.example"

    @property
    def handed_in(self) -> datetime:
        """When the last attempt was handed in."""
        return DUE + timedelta(hours=self.hours)


STUDENTS = (
    Student("amal", "Amal", "Nasser", 1001, "reference"),
    Student("anais", "Anaïs", "Lefèvre-Dubois", 1002, "bias_forgotten"),
    Student("bjork", "Björk", "", 1003, "batch_of_four"),
    Student("chen1", "Wei", "Chen", 1004, "constants_by_hand"),
    Student("chen2", "Wei", "Chen", 1005, "layer_left_out"),
    Student("dara", "Dara", "O'Neil", 1006, "destination_passing_of_2023", 5),
    Student("eszter", "Eszter", "Szabó", 1007, "everything_extern_in_mixture"),
    Student("fatima", "فاطمة", "الزهراء", 1008, "extern_not_registered"),
    Student("goran", "Goran", "Đorđević", 1009, "extern_rebinds_its_output"),
    Student("hana", "하나", "김", 1010, "reference", earlier="bias_forgotten"),
    Student("ines", "Inês", "de Sousa e Silva", 1011, "externs_in_numpy", 30),
    Student("jiri", "Jiří", "Dvořák", 1012, "failed_drafts_first"),
    Student("kwame", "Kwame", "Mensah", 1013, "loops_in_another_style"),
    Student("leilei", "雷", "李", 1014, "matmul_in_low_level"),
    Student("maja", "Maja", "Åkesson", 1015, "module_from_block_builder"),
    Student("nam", "Nam", "Nguyễn", 1016, "no_allocation"),
    Student("olga", "Ольга", "Иванова", 1017, "no_dataflow_block", 100),
    Student("pedro", "Pedro", "=1+2", 1018, "nothing_extern_in_mixture"),
    Student("qing", "晴", "王", 1019, "only_weights_bound"),
    Student("rosa", "Rosa", "Ortiz", 1020, "operators_instead_of_call_tir"),
    Student("sven", "Sven", "von der Heide", 1021, "other_names", earlier="weight_not_transposed"),
    Student("tariq", "Tariq", "Khan", 1022, "parameters_in_another_order"),
    Student("ulla", "Ulla", "Virtanen", 1023, "parameters_not_bound", 2),
    Student("vera", "Vera", "Petrova", 1024, "relu_at_the_end"),
    Student("wojtek", "Wojciech", "Żak", 1025, "relu_by_operator"),
    Student("xeni", "Xeni", "Papadaki", 1026, "relu_fused_into_linear", together="yusuf"),
    Student("yusuf", "Yusuf", "Demir", 1027, "relu_fused_into_linear", together="xeni"),
    Student("zoe", "Zoë", "van Dijk", 1028, "rows_in_low_level"),
    Student("notes", "Nobu", "Sato", 1029, ""),
    Student("absent", "Abel", "Nilsen", 1030, ""),
)
"""The class. Two have one name, two work together, one hands in no notebook, one nothing."""

NOTES, ABSENT = "notes", "absent"
"""Who hands in a text in place of a notebook, and who hands in nothing."""

PACKED = "kwame"
"""Whose notebook lies in an archive within an archive."""


def make_class() -> Files:
    """Return the files of the class, by their names in its folder."""
    files = {f"{name}.zip": packed(form()) for name, form in FORMS.items()}
    files["roster.csv"] = _roster()
    files["canvas.csv"] = _canvas_gradebook()
    files["moodle.csv"] = _moodle_worksheet()
    return files


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return an archive. Every file in it is of the first day that an archive can tell."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def unpacked(content: bytes) -> Files:
    """Return the files of an archive: other versions of zlib write the same files otherwise."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    inner = {name: each for name, each in found.items() if name.endswith(".zip")}
    for name, each in inner.items():
        found |= {f"{name}/{member}": text for member, text in unpacked(each).items()}
    return {name: each for name, each in found.items() if name not in inner}


# --- what was handed in ---------------------------------------------------------------------------


def _present() -> Iterator[Student]:
    return (each for each in STUDENTS if each.login != ABSENT)


def _work(student: Student) -> tuple[str, bytes]:
    """Return the name and the content of what a student has handed in last."""
    if student.login == NOTES:
        return "notes.txt", b"I was ill this week and have only these notes.\n"
    content = (EXAMPLES / f"{student.example}.ipynb").read_bytes()
    if student.login == PACKED:
        return "homework.zip", packed({"week 3.zip": packed({"homework.ipynb": content})})
    return "homework.ipynb", content


def _earlier(student: Student) -> bytes:
    return (EXAMPLES / f"{student.earlier}.ipynb").read_bytes()


# --- the forms ------------------------------------------------------------------------------------


def _canvas() -> Files:
    """Canvas: the letters of the name, the user's number and the file's, all in one folder."""
    files = {}
    for place, student in enumerate(_present()):
        name, content = _work(student)
        letters = "".join(e for e in f"{student.family}{student.given}".lower() if e.isalnum())
        late = "LATE_" * (student.hours > 0)
        files[f"{letters}_{late}{student.number}_{50_000 + place}_{name}"] = content
    return files


def _moodle() -> Files:
    """Moodle: a folder for each, called by the name and the participant's number."""
    files = {}
    for student in _present():
        name, content = _work(student)
        folder = f"{student.name}_{student.number + 4000}_assignsubmission_file_"
        files[f"{folder}/{name}"] = content
    return files


def _gradescope() -> Files:
    """Gradescope: a numbered folder for each submission, and a file that says whose it is."""
    files, metadata, done = {}, ["---"], set[str]()
    for student in _present():
        if student.login in done:
            continue
        group = [student, *(e for e in STUDENTS if e.login == student.together)]
        done |= {each.login for each in group}
        folder = f"submission_{student.number * 7}"
        name, content = _work(student)
        files[f"assignment_77_export/{folder}/{name}"] = content
        metadata += _submitted(folder, group)
    text = "\n".join(metadata) + "\n"
    return {"assignment_77_export/submission_metadata.yml": text.encode(), **files}


def _submitted(folder: str, group: Iterable[Student]) -> Iterator[str]:
    """Yield the lines of Gradescope's metadata about one submission."""
    yield f"{folder}:"
    yield "  :submitters:"
    for each in group:
        yield f'  - :name: "{each.name}"'
        yield f"    :sid: 's{each.number}'"
        yield f"    :email: {each.email}"
        at = each.handed_in
    yield f"  :created_at: {at:%Y-%m-%d %H:%M:%S}.000000000 Z"
    yield "  :score: 0.0"
    yield "  :status: processed"
    yield "  :results: {}"


def _brightspace() -> Files:
    """Brightspace: a folder for each time at which somebody handed in."""
    files: Files = {"index.html": b"<!doctype html><title>Submissions</title>\n"}
    for student in _present():
        name, content = _work(student)
        if student.earlier:
            before = student.handed_in - timedelta(days=1)
            files[f"{_brightspace_folder(student, before)}/{name}"] = _earlier(student)
        files[f"{_brightspace_folder(student, student.handed_in)}/{name}"] = content
    return files


def _brightspace_folder(student: Student, at: datetime) -> str:
    hour = at.hour % 12 or 12
    time = f"{at:%b} {at.day}, {at.year} {hour}{at:%M %p}"
    return f"{student.number + 90_000}-555 - {student.name} - {time}"


def _classroom() -> Files:
    """GitHub Classroom: a clone for each, called by the assignment and the login."""
    files = {}
    for student in _present():
        name, content = _work(student)
        clone = f"e2e-mlp-submissions/e2e-mlp-gh-{student.login}"
        files[f"{clone}/.git/HEAD"] = b"ref: refs/heads/main\n"
        files[f"{clone}/{name}"] = content
    return files


def _nbgrader() -> Files:
    """nbgrader: what it has collected, with the time beside it."""
    files = {}
    for student in _present():
        name, content = _work(student)
        folder = f"submitted/{student.login}/{SLUG}"
        files[f"{folder}/{name}"] = content
        stamp = f"{student.handed_in:%Y-%m-%d %H:%M:%S}.000000 UTC"
        files[f"{folder}/timestamp.txt"] = stamp.encode()
    return files


def _folders() -> Files:
    """Return a folder for each student, called by the login."""
    return {f"{s.login}/{name}": content for s in _present() for name, content in [_work(s)]}


FORMS: Mapping[str, Callable[[], Files]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
    "brightspace": _brightspace,
    "classroom": _classroom,
    "nbgrader": _nbgrader,
    "folders": _folders,
}
"""The archives, by what `grader collect --from` calls them."""


# --- the tables -----------------------------------------------------------------------------------


def _roster() -> bytes:
    """Return the instructor's own roster, with what each system knows a student by."""
    header = ["login", "name", "email", "section", "github_username"]
    header += ["ID", "SIS User ID", "SIS Login ID", "Identifier"]
    rows = [
        [
            *(each.login, each.name, each.email, each.section, f"gh-{each.login}"),
            *(each.number, f"s{each.number}", each.login, f"Participant {each.number + 4000}"),
        ]
        for each in STUDENTS
    ]
    return _table(header, rows)


def _canvas_gradebook() -> bytes:
    """Return what Canvas exports, before anything is graded."""
    header = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Perceptron (8812)"]
    header += ["Essay (8813)", "Current Score", "Final Score"]
    points = ["    Points Possible", "", "", "", "", "50", "10", "(read only)", "(read only)"]
    posting = ["", "", "", "", "", "Manual Posting", "", "", ""]  # which are not posted by Canvas
    rows = [posting, points]
    for each in STUDENTS:
        name = ", ".join(filter(None, (each.family, each.given)))
        ids = [str(each.number), f"s{each.number}", each.login, each.section]
        rows.append([name, *ids, "", "7", "", ""])
    rows.append(["Student, Test", "9999", "", "", "A", "", "", "", ""])
    return _table(header, rows)


def _moodle_worksheet() -> bytes:
    """Return Moodle's worksheet for grading offline."""
    header = ["Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade"]
    header += ["Grade can be changed", "Last modified (submission)", "Last modified (grade)"]
    header += ["Feedback comments"]
    rows = []
    for each in STUDENTS:
        status = "No submission - " if each.login == ABSENT else "Submitted for grading - "
        who = [f"Participant {each.number + 4000}", each.name, each.email, status]
        rows.append([*who, "", "100.00", "Yes", "-", "-", ""])
    return _table(header, rows)


def _table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows([header, *rows])
    return buffer.getvalue().encode()


def stale(files: Mapping[str, bytes], folder: Path) -> list[str]:
    """Return the names of files that are missing or hold something else than they should."""
    return [name for name, made in files.items() if not _is_same(folder / name, made)]


def _is_same(path: Path, made: bytes) -> bool:
    if not path.is_file():
        return False
    content = path.read_bytes()
    if path.suffix == ".zip":
        return list(unpacked(content).items()) == list(unpacked(made).items())
    return content == made


def main() -> int:
    """Write the class, or say whether it is stale."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    files, folder = make_class(), ROOT / CLASS
    names = stale(files, folder)
    if options.check:
        print(*(f"stale: {CLASS / name}" for name in names), sep="\n", file=sys.stderr)
        return 1 if names else 0
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(files[name])
        print(CLASS / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
