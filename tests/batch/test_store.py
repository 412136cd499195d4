"""The folder of reports: whole files, inside it, one batch at a time."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grader.batch.collect import Entry
from grader.batch.grading import Store, open_store
from grader.batch.keys import current_report
from grader.course import load_course
from grader.errors import UsageError
from grader.grading.rescoring import rubric_digest
from grader.report import Report
from tests.sample_reports import typical

COURSE = Path(__file__).parents[1] / "courses" / "small"
ENTRY = Entry(Path("hw.ipynb"), "ada/hw.ipynb", "ada/hw", Path())


@pytest.fixture
def report() -> Report:
    return typical()


class TestStore:
    """Writing and finding."""

    def test_a_report_is_found_again(self, tmp_path: Path, report: Report) -> None:
        Store(tmp_path).write(ENTRY, report)
        assert report == Store(tmp_path).find(ENTRY)
        assert [tmp_path / "ada/hw.json"] == list(tmp_path.glob("*/*"))

    @pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b'{"score": 10'])
    def test_what_is_no_report_is_not_found(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "ada").mkdir()
        (tmp_path / "ada/hw.json").write_bytes(content)
        assert Store(tmp_path).find(ENTRY) is None

    def test_a_draft_that_a_killed_run_left_is_replaced(
        self, tmp_path: Path, report: Report
    ) -> None:
        (tmp_path / "ada").mkdir()
        (tmp_path / "ada/.hw.json.part").write_bytes(b"half a rep")
        Store(tmp_path).write(ENTRY, report)
        assert [tmp_path / "ada/hw.json"] == list(tmp_path.glob("*/*"))

    def test_nothing_is_written_through_a_link_to_another_folder(
        self, tmp_path: Path, report: Report
    ) -> None:
        (tmp_path / "outside").mkdir()
        (tmp_path / "reports").mkdir()
        (tmp_path / "reports/ada").symlink_to(tmp_path / "outside")
        with pytest.raises(UsageError, match="points outside of"):
            Store(tmp_path / "reports").write(ENTRY, report)
        assert [] == list((tmp_path / "outside").iterdir())

    def test_nor_through_one_to_another_file(self, tmp_path: Path, report: Report) -> None:
        (tmp_path / "points").write_text("100")
        (tmp_path / "reports/ada").mkdir(parents=True)
        (tmp_path / "reports/ada/hw.json").symlink_to(tmp_path / "points")
        with pytest.raises(UsageError, match="is a link"):
            Store(tmp_path / "reports").write(ENTRY, report)
        assert "100" == (tmp_path / "points").read_text()

    def test_a_file_in_the_way_is_said(self, tmp_path: Path, report: Report) -> None:
        (tmp_path / "ada").write_text("a file")
        with pytest.raises(UsageError, match="Cannot write"):
            Store(tmp_path).write(ENTRY, report)


class TestOpening:
    """Only one batch writes to a folder."""

    def test_the_folder_is_made(self, tmp_path: Path) -> None:
        with open_store(tmp_path / "new/er"):
            assert (tmp_path / "new/er").is_dir()

    def test_a_second_batch_is_refused_until_the_first_has_ended(self, tmp_path: Path) -> None:
        with (
            open_store(tmp_path),
            pytest.raises(UsageError, match="Another batch"),
            open_store(tmp_path),
        ):
            pass
        with open_store(tmp_path) as store:
            assert store.find(ENTRY) is None

    def test_a_file_in_its_place_is_said(self, tmp_path: Path) -> None:
        (tmp_path / "reports").write_text("a file")
        with (
            pytest.raises(UsageError, match="Cannot write"),
            open_store(tmp_path / "reports"),
        ):
            pass


class TestIdentity:
    """A report is kept for the same file, the same assignment and the same basis."""

    def test_only_the_same_file_and_assignment_count(self, report: Report) -> None:
        assignment = load_course(COURSE).get("small").assignment
        report = msgspec.structs.replace(
            report,
            assignment=msgspec.structs.replace(report.assignment, slug="small", version=1),
            submission=msgspec.structs.replace(report.submission, sha256="ab"),
            basis="basis",
            rubric=rubric_digest(assignment),
        )
        other = load_course(COURSE).get("trio").assignment
        assert report is current_report(report, "ab", assignment, "basis")
        assert current_report(report, "cd", assignment, "basis") is None
        assert current_report(report, "ab", other, "basis") is None
        assert current_report(report, "ab", assignment, "other") is None

    def test_one_of_another_version_is_no_report_of_this_one(self, report: Report) -> None:
        """The typical one has other parts, so that its points cannot be counted anew."""
        assignment = load_course(COURSE).get("small").assignment
        report = msgspec.structs.replace(
            report,
            assignment=msgspec.structs.replace(report.assignment, slug="small", version=1),
            submission=msgspec.structs.replace(report.submission, sha256="ab"),
            basis="basis",
            rubric=rubric_digest(assignment),
        )
        newer = msgspec.structs.replace(assignment, version=2)
        assert current_report(report, "ab", newer, "basis") is None
