"""What docs/commands.md says of exit codes, of every command that needs nothing to be run.

Those of `run` and `batch` are in test_process and test_batch, `verify` has its own in test_verify.
"""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from grader.report import encode_report
from tests.cli.test_batch import COURSE
from tests.cli.test_options import COMMANDS
from tests.endtoend.command import ROOT
from tests.endtoend.warm import run_warm
from tests.sample_reports import typical

OLD = "import tvm\nfrom tvm.script import tir as T\nprint(tvm.__version__)\n"


WHEEL = "tvm_grader-0-py3-none-any.whl"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "report.json").write_bytes(encode_report(typical()))
    (tmp_path / "today.py").write_text("import tvm\n")
    (tmp_path / "damaged.ipynb").write_text("no notebook")
    (tmp_path / "file").touch()
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        wheel.writestr("tvm_grader-0.dist-info/METADATA", "Name: tvm-grader\n")
    return tmp_path


def call(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    done = run_warm(words, folder, {"COLUMNS": "200"}, timeout=120)
    assert "Traceback" not in done.stderr
    assert "Internal error" not in done.stderr
    return done


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("render report.json --format junit", 0),
        ("render report.json --format junit -o out.xml", 0),
        ("render report.json --format pdf", 2),
        ("render damaged.ipynb --format junit", 2),
        ("render report.json --format junit -o file/out.xml", 2),
        ("render report.json --format junit -o /dev/full", 2),
        ("new softmax --course new", 0),
        ("new softmax --course file", 2),
        ("new Not-A-Slug", 2),
        (f"ci init github --directory repository --install {WHEEL}", 0),
        (f"ci init github --directory file --install {WHEEL}", 2),
        (f"ci init github --directory repository --install {WHEEL} --course nowhere", 2),
        ("migrate today.py", 0),
        ("migrate nowhere.py", 2),
        ("migrate today.py -o file/today.py", 2),
        ("template nothing", 2),
        ("lint nothing", 2),
        ("verify nothing", 2),
        ("verify --json file/found.json", 2),
        ("run damaged.ipynb", 2),
        ("run nowhere.ipynb", 2),
        ("run damaged.ipynb --json damaged.ipynb", 2),
        (f"run damaged.ipynb --course {COURSE} --assignment small", 0),
        (f"run damaged.ipynb --course {COURSE} --assignment small --fail-under 1", 1),
        (f"batch damaged.ipynb --output out --course {COURSE} --assignment small", 0),
        (f"batch damaged.ipynb --output out --course {COURSE} --assignment small"
         " --fail-under 1", 1),
        (f"batch damaged.ipynb --output out --course {COURSE} --fail-under 1", 2),
        (f"batch damaged.ipynb --output file --course {COURSE} --assignment small", 2),
        ("batch nowhere --output out", 2),
        ("collect nowhere --output out", 2),
        ("collect damaged.ipynb --output out", 2),
        ("export csv", 2),
        ("export csv --assignment small", 2),
        ("export csv --reports nowhere", 2),
        ("feedback --reports nowhere --output out", 2),
        ("feedback --output out", 2),
        ("sync canvas fetch http://canvas.example.org/courses/1/assignments/2 -o out", 2),
        ("sync moodle push nowhere --assignment small", 2),
        ("sync lti push nowhere --assignment small", 2),
        ("sync lti fetch -o out", 2),
        ("course init --course file", 2),
        ("roster import nowhere.csv", 2),
        ("grades show ada", 2),
        ("mark", 2),
        (f"mark --course {COURSE.parent / 'written'}", 2),
        ("--version", 0),
    ],
)  # fmt: skip
def test_a_command_ends_with_its_code(folder: Path, line: str, code: int) -> None:
    done = call(folder, *line.split())
    assert code == done.returncode, done.stdout + done.stderr


def test_a_check_of_templates_ends_with_1_when_one_is_stale(folder: Path) -> None:
    words = ("template", "e2e-mlp", "--lang", "en", "--output", folder / "made", "--course", ROOT)
    assert [1, 0, 0] == [
        call(folder, *each).returncode for each in ((*words, "--check"), words, (*words, "--check"))
    ]


def test_every_command_has_a_row() -> None:
    page = (ROOT / "docs/commands.md").read_text()
    table = page.partition("## Exit codes")[2].partition("\n\nA command line")[0]
    listed = re.findall(r"`([a-z]+)(?: init)?`(?=[,| ])", table)
    assert {name for name, *_ in COMMANDS} == set(listed)
