"""nbgrader itself: a notebook goes to a student and comes back, and its page goes to the student.

nbgrader needs JupyterLab, so it is in an environment of its own, which GRADER_NBGRADER names:

    python3 -m venv /tmp/nbgrader && /tmp/nbgrader/bin/pip install nbgrader
    GRADER_NBGRADER=/tmp/nbgrader make test-all
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import zipfile
from pathlib import Path

import msgspec
import nbformat
import pytest

from grader.lms.collect import CollectOutcome, read_manifest
from grader.lms.handback import pack_pages, read_works
from grader.report import encode_report
from tests.lms.archives import make_folder
from tests.lms.collecting import collect
from tests.lms.test_nbgrader import NOW, OWN
from tests.sample_reports import typical

ENVIRONMENT = "GRADER_NBGRADER"
HERE = os.environ.get(ENVIRONMENT)

pytestmark = pytest.mark.skipif(
    HERE is None, reason=f"{ENVIRONMENT}=FOLDER make test-all, with nbgrader in that environment"
)


class Hub:
    """A course and its exchange, with one student: whoever runs the tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.course, self.home = folder / "mlc", folder / "home"
        self.exchange = folder / "exchange"
        config = "\n".join(
            [
                "c = get_config()",
                'c.CourseDirectory.course_id = "mlc"',
                f"c.Exchange.root = {str(self.exchange)!r}",
                f"c.Exchange.cache = {str(folder / 'cache')!r}",
            ]
        )
        make_folder(
            folder, {"config/nbgrader_config.py": config, "exchange/.keep": "", "home/.keep": ""}
        )
        self.exchange.chmod(0o777)
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x = 1")])
        make_folder(self.course, {"release/hw1/hw.ipynb": nbformat.writes(notebook)})
        self.run(self.course, "db", "assignment", "add", "hw1")
        self.run(self.course, "release_assignment", "hw1")
        self.run(self.home, "fetch_assignment", "hw1")

    def run(self, where: Path, *words: str) -> str:
        """Run a command of nbgrader; return what it said."""
        path = f"{HERE}/bin:{os.environ['PATH']}"  # it calls alembic
        own = {"HOME": self.home, "JUPYTER_CONFIG_DIR": self.folder / "config", "PATH": path}
        done = subprocess.run(
            [Path(str(HERE), "bin/nbgrader"), *words],
            cwd=where,
            env={**os.environ, **{name: str(path) for name, path in own.items()}},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout + done.stderr

    def submit(self, text: str) -> None:
        """Hand in a notebook with this in its only cell."""
        path = self.home / "hw1/hw.ipynb"
        notebook = nbformat.read(path, 4)
        notebook.cells[0].source = text
        nbformat.write(notebook, path)
        self.run(self.home, "submit", "hw1")


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(tmp_path)


def graded(hub: Hub, outcome: CollectOutcome, number: int) -> bytes:
    """Return the archive with the page of one attempt of the student."""
    (student,) = outcome.collected.students
    (notebook,) = (hub.folder / "class" / student.attempts[number].folder).glob("*.ipynb")
    digest = hashlib.sha256(notebook.read_bytes()).hexdigest()
    submission = msgspec.structs.replace(typical().submission, name="hw.ipynb", sha256=digest)
    report = msgspec.structs.replace(typical(), graded=NOW, submission=submission)
    files = {f"{student.folder}/hw.json": encode_report(report), "summary.json": b"{}"}
    make_folder(hub.folder / "reports", files)
    collected = hub.folder / "class"
    works = read_works(hub.folder / "reports", read_manifest(collected), collected)
    content, left_out = pack_pages(works.each, "nbgrader", NOW, collected)
    assert () == left_out
    return content


def fetched(hub: Hub, content: bytes) -> dict[str, bytes]:
    """Release pages and fetch them as the student; return them by the time of the submission."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(hub.course)
    hub.run(hub.course, "release_feedback", "hw1")
    hub.run(hub.home, "fetch_feedback", "hw1")
    return {
        path.parent.name: path.read_bytes() for path in (hub.home / "hw1/feedback").rglob("*.html")
    }


def page_in(content: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return archive.read(f"feedback/{OWN}/hw1/hw.html")


def test_from_the_exchange_and_back_to_the_attempt_that_counts(hub: Hub) -> None:
    hub.submit("first")
    hub.submit("second")
    outcome = collect(hub.exchange / "mlc", hub.folder / "class")
    (student,) = outcome.collected.students
    assert (OWN, 2, ()) == (student.folder, len(student.attempts), outcome.collected.left_out)
    last = hub.folder / "class/submissions" / OWN
    assert ["hw.ipynb"] == [path.name for path in last.iterdir()]
    assert "second" in (last / "hw.ipynb").read_text()
    content = graded(hub, outcome, 0)
    pages = fetched(hub, content)
    assert [page_in(content)] == [*pages.values()]
    assert [student.attempts[0].at[:10]] == [time[:10] for time in pages]


def test_from_the_course_s_folder_and_back(hub: Hub) -> None:
    hub.submit("first")
    hub.run(hub.course, "collect", "hw1")
    outcome = collect(hub.course, hub.folder / "class")
    assert (("nbgrader",), (OWN,)) == (outcome.layouts, outcome.new)
    content = graded(hub, outcome, 0)
    assert [page_in(content)] == [*fetched(hub, content).values()]
