"""What there is to see of an assignment, before and after a file of it has changed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from grader.preview import NotShown, PreviewChoices, PreviewSession
from grader.report import Report

SECONDS = 120


def graded(session: PreviewSession, mutant: str) -> Report | NotShown:
    """Return a report once it is there."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        found = session.graded(mutant)
        if found is not None:
            return found
        time.sleep(0.05)
    raise AssertionError("nothing was graded")


def change(path: Path, before: str, after: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")


def test_what_can_be_chosen_is_what_the_files_have(session: PreviewSession) -> None:
    choice = session.choice()
    assert isinstance(choice, PreviewChoices)
    assert ("en", "zh") == choice.languages
    assert ["", "sum_not_initialised"] == [each for each, _ in choice.mutants][:2]


def test_a_template_is_made_of_what_the_master_says_now(
    session: PreviewSession, course: Path
) -> None:
    before = session.stamp()
    change(course / "reference" / "layer.py", "# ## 1. A TensorIR", "# ## 1. Only a TensorIR")
    assert before != session.stamp()
    found = session.template("en")
    assert not isinstance(found, NotShown)
    assert any("Only a TensorIR" in each.source for each in found.cells)
    assert "BEGIN SOLUTION" not in str(found)


def test_a_language_that_is_gone_is_english(session: PreviewSession) -> None:
    assert session.template("ko") == session.template("en") != session.template("zh")


def test_a_release_has_no_reference_schedule(session: PreviewSession) -> None:
    found = session.release()
    assert isinstance(found, dict)
    assert {"assignments/layer/assignment.toml", "assignments/layer/oracle.py"} == {*found}


@pytest.mark.parametrize("name", ["assignments/layer/assignment.toml", "reference/layer.py"])
def test_what_is_wrong_is_told_in_place_of_it(
    session: PreviewSession, course: Path, name: str
) -> None:
    (course / name).write_text('# %% tags=[instructor]\nslug = "', encoding="utf-8")
    found = session.template("en")
    assert isinstance(found, NotShown)
    assert found.reason and found.hint


def test_a_mutant_is_graded_once_until_a_file_changes(
    session: PreviewSession, course: Path
) -> None:
    assert session.graded("sum_not_initialised") is None, "it takes seconds"
    report = graded(session, "sum_not_initialised")
    assert isinstance(report, Report)
    lost = {part.id for part in report.parts if part.score < part.max_score}
    assert {"kernel", "schedule"} == lost, "what is wrong, and what is not measured"
    assert report is session.graded("sum_not_initialised")
    change(course / "assignments/layer/assignment.toml", "points = 5\n", "points = 5 \n")
    assert session.graded("sum_not_initialised") is None
    whole = graded(session, "")
    assert isinstance(whole, Report)
    assert {"schedule"} == {part.id for part in whole.parts if part.score < part.max_score}
