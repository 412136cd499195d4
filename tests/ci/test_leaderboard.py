"""The workflow that publishes ranks: its commands, in order, in a scratch clone with reports."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from grader.ci.recipes import LEADERBOARD, BoardChoices, leaderboard_files, write_new
from grader.report import Report, encode_report
from tests.ci.repository import Repository
from tests.ci.services import GitHub, Outcome
from tests.ci.wheels import STUB
from tests.insights.classes import timed
from tests.render.html.reading import read
from tests.sample_reports import typical

CONSENT = "student,name\nada,swift fox 1\nolga,keen owl 2\n"
STUDENTS = {"ada", "olga", "eve"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A private repository with the reports of three students, of whom two want to be ranked."""
    made = Repository(tmp_path)
    for name, factor in (("ada", 1.0), ("olga", 2.0), ("eve", 3.0)):
        hand_in(made, name, timed(typical(), factor))
    made.write("reports/summary.json")
    made.write("consent.csv", CONSENT)
    files = leaderboard_files(BoardChoices(made.path, STUB))
    write_new({made.path / path: text for path, text in files.items()}, force=False)
    made.commit()
    return made


def hand_in(repository: Repository, name: str, report: Report) -> None:
    repository.write(f"reports/{name}.json", encode_report(report).decode())


def run(repository: Repository, folder: Path) -> tuple[Outcome, Path]:
    """Return what the job came to, and the folder of what would be published."""
    service = GitHub(repository, folder / "runner", workflow=LEADERBOARD, job="board")
    return service.run({}), service.temporary / "site"


def test_ranks_are_published_under_chosen_names_and_nothing_else_is(
    repository: Repository, tmp_path: Path
) -> None:
    outcome, site = run(repository, tmp_path)
    assert outcome.succeeded, outcome.log
    names = sorted(path.name for path in site.iterdir())
    assert ["e2e-conv-leaderboard.html", "e2e-conv-leaderboard.json", "index.html"] == names
    for text in (outcome.log, outcome.summary, *(path.read_text() for path in site.iterdir())):
        assert not STUDENTS & {*text.replace('"', " ").split()}
    assert "keen owl 2" in (site / "index.html").read_text()
    assert "| 1 | keen owl 2 |" in outcome.summary
    assert "" == repository.git("status", "--porcelain")


def test_several_assignments_have_a_list_of_their_pages(
    repository: Repository, tmp_path: Path
) -> None:
    report = timed(typical(), 2.0)
    other = replace(report, assignment=replace(report.assignment, slug="tensorir"))
    hand_in(repository, "ada/second", other)
    outcome, site = run(repository, tmp_path)
    assert outcome.succeeded, outcome.log
    index = read((site / "index.html").read_bytes())
    pages = ["e2e-conv-leaderboard.html", "tensorir-leaderboard.html"]
    assert pages == index.values("href")
    assert all((site / page).is_file() for page in pages)


def test_who_has_no_name_is_not_given_another_one_in_every_run(
    repository: Repository, tmp_path: Path
) -> None:
    repository.write("consent.csv", CONSENT + "eve,\n")
    outcome, site = run(repository, tmp_path)
    assert not outcome.succeeded
    assert "::error::A student who wants to be ranked has no name." in outcome.log
    assert not site.exists()
    assert (repository.path / "consent.csv").read_text().endswith("eve,\n")


def test_where_nobody_wants_to_be_ranked_nothing_is_published(
    repository: Repository, tmp_path: Path
) -> None:
    repository.write("consent.csv", "student,name\nkim,calm crane 3\n")
    outcome, site = run(repository, tmp_path)
    assert not outcome.succeeded
    assert "::error::There is no leaderboard.\n" in outcome.log
    assert "| grader: No student who opted in was measured." in outcome.log
    assert not site.exists()
