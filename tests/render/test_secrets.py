"""No rendering tells what only the referee knows, where it was graded, or what is kept back."""

from __future__ import annotations

import base64
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import NamedTuple

import nbformat
import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from grader.course import load_course
from grader.language import foreign
from grader.render.audience import shown
from grader.render.formats import FORMATS, render_as
from grader.report import Check, Report, Verdict, Visibility
from tests.cli.test_batch import MODEL, PREPARATION
from tests.endtoend.batches import TIMED_SECONDS, grade_batch, require_measured
from tests.endtoend.command import ROOT
from tests.endtoend.examples import quick_course
from tests.render.secrets import Secrets, letters_of, secrets_of, written
from tests.render.test_audience import ALL, EARLY, LATE, check, part, report

SEED = 7
VISIBILITY = ROOT / "tests" / "courses" / "visibility" / "assignments" / "visibility"
EXAMPLES = (
    "e2e-conv/conv_without_bias",
    "e2e-conv/reference",
    "e2e-mlp/bias_forgotten",
    "tensorir/schedule_not_vectorized",
)
TEMPLATES = ("e2e-conv/template",)
NOSY = "visibility/nosy"
SUBMISSIONS = (*EXAMPLES, *TEMPLATES, NOSY)

NOSY_CELLS = (
    PREPARATION,
    MODEL.format(function="topi.tanh"),
    "import os, sys, traceback\nprint(sys.path, sys.prefix, sys.executable, np.__file__)",
    "print(dict(os.environ), os.getcwd(), os.path.expanduser('~'))",
    "print(open('/proc/self/cmdline').read(), open('/proc/self/maps').read())",
    "sys.stderr.write(sys.prefix)\nsys.path",
    "np.zeros(3) @ np.zeros(4)",
    "import json\njson.loads('{')",
    "from tvm import tir\ntvm.tir.stmt_functor.substitute(1, 2)",
    "raise RuntimeError(f'{sys.prefix} {os.getcwd()} {sys.path} {sys.executable}')",
    "try:\n    np.zeros(3) @ np.zeros(4)\nexcept ValueError:\n    traceback.print_exc()",
    "open(np.__file__ + '/x')",
    "def create_model_again():\n    raise OSError(sys.prefix, os.__file__)\ncreate_model_again()",
    "def create_model():\n    raise OSError(f'{sys.prefix}: {np.__file__}')",
    "%%python\nimport sys\nprint(sys.path)",
    "!pwd; echo $HOME $PATH $TMPDIR; ls -d /proc/self/cwd/..",
)


class Gradings(NamedTuple):
    """The reports of all submissions, their texts, and the course and folders they were graded in.

    The course's own folder, the working folder, the home and the folder for temporary files have
    names that nothing else has.
    """

    reports: Mapping[str, Report]
    texts: Mapping[str, str]
    course: Path
    folders: tuple[Path, ...]

    def secrets(self, name: str) -> Secrets:
        chosen = load_course(self.course).get(name.split("/")[0])
        return secrets_of(chosen, SEED, ROOT / "reference", self.texts[name], self.folders)


def submissions() -> dict[str, bytes]:
    contents = {name: (ROOT / "examples" / f"{name}.ipynb").read_bytes() for name in EXAMPLES}
    for name in TEMPLATES:
        contents[name] = (ROOT / "templates" / f"{name.split('/')[0]}.ipynb").read_bytes()
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(source) for source in NOSY_CELLS],
        metadata={"grader": {"assignment": "visibility", "version": 1}},
    )
    return {**contents, NOSY: nbformat.writes(notebook).encode()}


@pytest.fixture(scope="module")
def gradings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gradings]:
    """Grade everything in one batch, with the commands' own defaults but for a known seed.

    Schedules are timed for long enough to find quiet moments beside other tests: within 0.1 s there
    were none in one run of fourteen.
    """
    course = quick_course(tmp_path_factory.mktemp("coursefolder"), TIMED_SECONDS)
    shutil.copytree(VISIBILITY, course / "assignments" / "visibility")
    working, home = (tmp_path_factory.mktemp(name) for name in ("workingfolder", "homefolder"))
    contents = submissions()
    with tempfile.TemporaryDirectory(prefix="tf-", dir="/tmp") as temporary:  # short: for sockets
        Path(temporary).chmod(0o711)
        batch = grade_batch(
            working,
            contents,
            *("--course", course, "--seed", str(SEED)),
            environment={"HOME": str(home), "TMPDIR": temporary},
        )
        folders = (course, working, home, Path(temporary), Path(sys.prefix), ROOT)
        assert 0 == batch.code, batch.messages
        texts = {name: _text(content) for name, content in contents.items()}
        yield Gradings(batch.reports, texts, course, folders)


def _text(content: bytes) -> str:
    notebook = nbformat.reads(content.decode(), as_version=4)
    return "\n".join(cell.source for cell in notebook.cells)


def renderings(report: Report, now: datetime = EARLY) -> Iterator[tuple[str, bytes]]:
    """Yield a report in every format, as students get it and as the instructor does."""
    for name, render in FORMATS.items():
        yield name, render(report)
        yield f"{name} for students", render(shown(report, "student", now))


@pytest.mark.graded
@pytest.mark.parametrize("name", SUBMISSIONS)
def test_no_secret_is_in_any_rendering(name: str, gradings: Gradings) -> None:
    secrets = gradings.secrets(name)
    assert min(map(len, secrets)) > 3, "there is something to look for"
    told = {format_: secrets.told_by(page) for format_, page in renderings(gradings.reports[name])}
    assert {} == {format_: found for format_, found in told.items() if found}


@pytest.mark.graded
def test_the_gradings_have_all_that_a_report_can_tell(gradings: Gradings) -> None:
    """Cells with outputs, a diagnosis, a test image, a schedule's text and its times."""
    wrong, right = gradings.reports[EXAMPLES[0]], gradings.reports["e2e-conv/reference"]
    assert any(part.diagnosis and part.sample for part in wrong.parts)
    assert any(part.scripts for part in right.parts)
    kinds = {output.kind for cell in gradings.reports[NOSY].cells for output in cell.outputs}
    assert {"stdout", "stderr", "result", "error"} <= kinds
    require_measured(right)
    assert right.timing is not None


@pytest.mark.parametrize("name", FORMATS)
def test_a_secret_would_be_found(name: str) -> None:
    """In whatever way a format writes text, as plain as it is here."""
    array = np.random.default_rng(SEED).standard_normal(8).astype(np.float32)
    line = "weight = numpy.asarray(secret, dtype='float32')  # <it>"
    folder = Path("/srv/of/course_1")
    kinds = [array], [line], [folder]
    for place, each in enumerate((str(array[0]), _base64(array), line, f"in {folder}/x.py:")):
        whole = report(part(replace(check("visible"), reason=each)))
        found = written(*kinds).told_by(FORMATS[name](whole))
        wanted = ("number", "bytes", "line", "folder")[place]
        assert [wanted] == [every.split()[0] for every in found]
    assert [] == written(*kinds).told_by(FORMATS[name](report(part(check("visible")))))


def _base64(array: npt.NDArray[np.float32]) -> str:
    return base64.b64encode(array.tobytes()).decode()


# --- what was chosen to be shown -----------------------------------------------------------------

SHOWN: dict[datetime, tuple[Visibility, ...]] = {
    EARLY: ("visible", "score_only"),
    LATE: ("visible", "after_due", "score_only"),
}


def as_students_read_it(name: str, whole: Report, now: datetime) -> bytes:
    """Return a rendering as it reaches students: Gradescope takes out of its own what they may not.

    It shows no total where a test is kept back, and `extra_data` to nobody.
    """
    page = render_as(name, whole, "student", now)
    if name != "gradescope":
        return page
    results = json.loads(page)
    wanted = {"visible"} | ({"after_due_date"} if now >= LATE else set())
    kept = [each for each in results["tests"] if each["visibility"] in wanted]
    if len(kept) < len(results["tests"]):
        del results["score"]
    for each in (results, *kept):
        del each["extra_data"]
    return json.dumps(results | {"tests": kept}).encode()


def marked() -> Report:
    """A report with a check of every visibility, of several kinds, each with words of its own."""
    kinds = ("equivalence", "calls", "speed")
    checks = {kind: [_spelled(check(each, kind)) for each in ALL] for kind in kinds}
    return report(*(part(*checks[kind], name=kind) for kind in kinds))


def _spelled(each: Check) -> Check:
    """Name a check's texts by letters alone: they are found whatever a format escapes."""
    mark = f"{each.kind}{each.visibility.replace('_', '')}"
    return replace(
        each,
        id=f"id{mark}",
        title=foreign(f"Title{mark}"),
        reason=foreign(f"Reason{mark}"),
        hint=foreign(f"Hint{mark}"),
    )


@pytest.mark.parametrize("now", [EARLY, LATE], ids=["early", "late"])
@pytest.mark.parametrize("name", FORMATS)
def test_checks_show_as_the_instructor_chose(name: str, now: datetime) -> None:
    whole = marked()
    letters = letters_of(as_students_read_it(name, whole, now))
    for each in (each for some in whole.parts for each in some.checks):
        listed = each.visibility in SHOWN[now]
        told = listed and each.visibility != "score_only"
        assert listed == (each.title.english in letters), each.title
        assert (told, told) == (each.reason.english in letters, each.hint.english in letters), (
            each.title
        )
        assert listed or each.id not in letters


def test_what_became_of_a_hidden_check_changes_no_byte(subtests: pytest.Subtests) -> None:
    """Neither its points nor its verdict nor its reason, nor what these do to sums."""
    nothing: dict[str, object] = {"sample": None, "diagnosis": None, "scripts": None}
    for name, kind, visibility in product(FORMATS, ("equivalence", "speed", "calls"), KEPT_BACK):
        with subtests.test(f"{name}, {kind}, {visibility}"):
            kept_back = check(visibility, kind, 8.0)
            explained = nothing if kind == "equivalence" else {}
            failed = page_with(name, ended(kept_back, "failed", 0.0))
            assert failed == page_with(name, ended(kept_back, "passed", 8.0), **explained)


KEPT_BACK: tuple[Visibility, ...] = ("after_due", "hidden")


def ended(check: Check, verdict: Verdict, score: float) -> Check:
    return replace(check, verdict=verdict, score=score, reason=foreign(f"It {verdict}."))


def page_with(name: str, kept_back: Check, **explaining: object) -> bytes:
    """Return what students read of two parts with a check that is kept back."""
    both = part(check("visible"), kept_back)
    whole = report(replace(both, **explaining), part(kept_back, name="other"))
    return as_students_read_it(name, whole, EARLY)


@pytest.mark.parametrize("name", FORMATS)
def test_everything_may_be_hidden(name: str) -> None:
    """Then there is a page all the same, and it does not say that grading failed."""
    page = render_as(name, report(part(check("hidden"))), "student", EARLY)
    assert "Nothingwasgraded" not in letters_of(page)
    assert b'type="not_graded"' not in page
    if name == "classroom":
        assert "error" not in base64.b64decode(page).decode()
    if name not in ("gradescope", "annotations", "classroom", "junit"):
        assert "Yourinstructorhidessomechecks" in letters_of(page)


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "gradescope"])
def test_the_seed_is_told_where_nothing_is_withheld_alone(name: str) -> None:
    seed = 918273645546372
    open_one = report(part(check("visible")), seed=seed)
    kept = report(part(check("visible"), check("score_only")), seed=seed)
    assert str(seed) not in letters_of(render_as(name, kept, "student", EARLY))
    if name in ("json", "text", "html", "markdown", "github"):
        assert str(seed) in letters_of(render_as(name, open_one, "student", EARLY))
