"""Names that were chosen to be read as another student's, in every layout: none reaches him."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.lms.roster import Roster, RosterPerson
from tests.lms.archives import make_zip
from tests.lms.collecting import collect, contents

ROSTER = Roster(
    [
        RosterPerson("bob", "Bob Byron", {"canvas": "77", "moodle": "99", "brightspace": "7"}),
        RosterPerson("eve", "Eve Gray", {"canvas": "78", "moodle": "98", "brightspace": "8"}),
        RosterPerson("x-bob", "Xi Bo", {"login": "x-bob"}),
        RosterPerson("zoë", "Zoë Ω", {"login": "zoe", "email": "zoe@x"}),
    ]
)

CANVAS = ("byronbob_77_60001_hw.ipynb", "kim_5_60002_hw.ipynb")
MOODLE = ("Bob Byron_99_assignsubmission_file_/hw.ipynb", "K_5_assignsubmission_file_/hw.ipynb")
BRIGHTSPACE = ("7-1 - Bob Byron - Nov 3, 2026 1205 PM/hw.ipynb",)
BLACKBOARD = tuple(f"L_{n}_attempt_2026-11-03-12-05-00_hw.ipynb" for n in ("bob", "eve"))
FOLDERS = ("bob/hw.ipynb", "eve/hw.ipynb")
METADATA = "submission_1:\n  :submitters:\n  - :name: Bob Byron\n    :sid: bob\n"
FORGED: dict[str, tuple[tuple[str, ...], str]] = {
    "canvas: a file called as a whole name": (CANVAS, "m_6_60003_byronbob_77_60001_hw.ipynb"),
    "canvas: full-width digits": (CANVAS, "byronbob_７７_60001_hw.ipynb"),
    "canvas: a zero before": (CANVAS, "byronbob_077_60003_hw.ipynb"),
    "canvas: late within a name": (CANVAS, "byronbob_LATE_77_6_60003_hw.ipynb"),
    "canvas: a name that looks anonymous": (CANVAS, "anon_77_6_60003_hw.ipynb"),
    "canvas: a folder": (CANVAS, "byronbob_77_60003_x/hw.ipynb"),
    "canvas: another layout's name": (CANVAS, "Bob Byron_99_assignsubmission_file_/hw.ipynb"),
    "canvas: a folder of nbgrader's": (CANVAS, "submitted/bob/hw/hw.ipynb"),
    "canvas: a manifest": (CANVAS, "collected.json"),
    "moodle: the number with a zero": (MOODLE, "M_099_assignsubmission_file_/hw.ipynb"),
    "moodle: full-width digits": (MOODLE, "M_９９_assignsubmission_file_/hw.ipynb"),
    "moodle: text online": (MOODLE, "x_99_y_6_assignsubmission_onlinetext_/onlinetext.html"),
    "moodle: nested folders": (
        MOODLE,
        "M_6_assignsubmission_file_/Bob Byron_99_assignsubmission_file_/hw.ipynb",
    ),
    "moodle: no number": (MOODLE, "Bob Byron__assignsubmission_file_/hw.ipynb"),
    "brightspace: a name with a hyphen and a number": (
        BRIGHTSPACE,
        "6-1 - x 7-1 - Bob Byron - Nov 3, 2026 1205 PM/hw.ipynb",
    ),
    "brightspace: a year that is none": (
        BRIGHTSPACE,
        "6-1 - 7-1 - Nov 99, 9999 9999 PM - y - Nov 3, 2026 1205 PM/hw.ipynb",
    ),
    "blackboard: a file called as a whole name": (
        BLACKBOARD,
        "L_6_attempt_2026-11-03-12-05-03_L_bob_attempt_2026-11-03-12-05-00_hw.ipynb",
    ),
    "blackboard: a login that another's ends in": (
        BLACKBOARD,
        "L_x_bob_attempt_2026-11-03-12-05-03_hw.ipynb",
    ),
    "folders: capitals": (FOLDERS, "BOB/hw.ipynb"),
    "folders: a space behind": (FOLDERS, "bob /hw.ipynb"),
    "folders: full-width letters": (FOLDERS, "ｂｏｂ/hw.ipynb"),
    "folders: a notebook beside": (FOLDERS, "bob.ipynb"),
    "folders: an archive beside": (FOLDERS, "bob.tar.gz"),
    "folders: decomposed": (("zoë/hw.ipynb", "eve/hw.ipynb"), "zoe\u0308/hw.ipynb"),
    "folders: an e-mail address": (("zoë/hw.ipynb", "eve/hw.ipynb"), "zoe@x/hw.ipynb"),
    "folders: a login": (("zoë/hw.ipynb", "eve/hw.ipynb"), "zoe/hw.ipynb"),
    "classroom: a login with a hyphen": (
        ("hw-x-bob/.git/HEAD", "hw-x-bob/hw.ipynb", "hw-zoe/.git/HEAD", "hw-zoe/hw.ipynb"),
        "hw-y-x-bob/.git/HEAD",
    ),
    "nbgrader: two of one student": (
        ("submitted/bob/hw/hw.ipynb", "submitted/eve/hw/hw.ipynb"),
        "submitted/BOB/hw/hw.ipynb",
    ),
    "gradescope: a folder that the file does not name": (
        ("submission_1/hw.ipynb", "submission_metadata.yml"),
        "submission_01/hw.ipynb",
    ),
}


@pytest.mark.parametrize("attack", FORGED)
def test_no_name_reaches_another_student(tmp_path: Path, attack: str) -> None:
    """What the attacker hands in is in no folder with what somebody else handed in, nor counts for
    a student of the roster beside his own."""
    honest, forged = FORGED[attack]
    files = {name: f"honest: {name}" for name in honest} | {forged: "forged"}
    if "submission_metadata.yml" in files:
        files["submission_metadata.yml"] = METADATA
    outcome = collect(make_zip(tmp_path / "a.zip", files), tmp_path / "class", ROSTER)
    for student in outcome.collected.students:
        found = contents(tmp_path / "class", student)
        assert "forged" not in found or not student.id, (student, found)
        assert "forged" not in found or found == {"forged"}, (student, found)
    students = outcome.collected.students
    rows = {each.id or each.folder: contents(tmp_path / "class", each) for each in students}
    if attack.split(":")[0] in ("canvas", "moodle", "brightspace", "blackboard"):
        assert {f"honest: {honest[0]}"} == rows["bob"]  # whose number nobody else can have
    has_row = any("forged" in found for found in rows.values())
    assert has_row or forged.split("/")[0] in str(outcome.collected), "nothing is told of it"
