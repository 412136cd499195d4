"""Fetching a class by API: the folder that `grader collect` makes, whatever the server does."""

from __future__ import annotations

import csv
import io
import json
import time
import zipfile
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from grader.errors import LmsError, UsageError
from grader.lms.collect import CollectedStudent, read_manifest
from grader.lms.roster import read_roster
from tests.gradebook.factory import enrol
from tests.gradebook.small_class import Class
from tests.lms.sync.commands import fetch
from tests.lms.sync.conftest import notebook
from tests.lms.sync.servers import TOKEN, Canvas, Moodle, Reply, Request, Site, told

AT = "2026-12-01T20:00:00Z"


def students(folder: Path) -> dict[str, CollectedStudent]:
    return {each.id or each.folder: each for each in read_manifest(folder / "class").students}


def content(folder: Path, login: str) -> dict[str, bytes]:
    place = folder / "class" / "submissions" / login
    return {
        path.relative_to(place).as_posix(): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def taught(canvas: Canvas) -> Canvas:
    canvas.enrol(101, "ada", sid="s1")
    canvas.enrol(102, "leilei", "李雷")
    canvas.enrol(103, "eve")
    canvas.hand_in(101, AT, ("hw.ipynb", notebook("one")))
    canvas.hand_in(102, "2026-12-02T08:00:00Z", ("作业.ipynb", notebook("two")), late=True)
    return canvas


class TestCanvas:
    """A course of Canvas."""

    def test_everybody_has_a_folder_by_the_login_with_the_time(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        ran = fetch(taught, tmp_path)
        found = students(tmp_path)
        assert {"ada", "leilei"} == {*found}
        assert {"hw.ipynb": notebook("one")} == content(tmp_path, "ada")
        assert "2026-12-01T20:00:00+00:00" == found["ada"].attempts[-1].at
        assert (False, True) == (found["ada"].attempts[-1].late, found["leilei"].attempts[-1].late)
        assert "101" == found["ada"].keys["canvas"]
        assert "In the roster, without a submission (1): eve." in ran.text
        assert ran.complete

    def test_the_same_again_downloads_nothing_and_changes_no_byte(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        fetch(taught, tmp_path)
        before = {p: p.read_bytes() for p in (tmp_path / "class").rglob("*") if p.is_file()}
        asked = len(taught.requests)
        ran = fetch(taught, tmp_path)
        assert not any("/files/" in each.path for each in taught.requests[asked:])
        assert before == {p: p.read_bytes() for p in (tmp_path / "class").rglob("*") if p.is_file()}
        assert "Unchanged: 2." in ran.text

    def test_a_later_attempt_replaces_the_one_before(self, taught: Canvas, tmp_path: Path) -> None:
        fetch(taught, tmp_path)
        taught.hand_in(101, "2026-12-01T21:00:00Z", ("hw.ipynb", notebook("better")))
        ran = fetch(taught, tmp_path)
        assert {"hw.ipynb": notebook("better")} == content(tmp_path, "ada")
        assert 2 == len(students(tmp_path)["ada"].attempts)
        assert "Resubmitted (1): ada." in ran.text

    def test_more_students_than_a_page_are_all_there(self, canvas: Canvas, tmp_path: Path) -> None:
        canvas.page = 7
        for n in range(30):
            canvas.enrol(200 + n, f"s{n:02}")
            canvas.hand_in(200 + n, AT, ("hw.ipynb", notebook(str(n))))
        fetch(canvas, tmp_path)
        assert {f"s{n:02}" for n in range(30)} == {*students(tmp_path)}

    def test_an_own_roster_is_matched_by_login_and_number_and_never_by_name_or_mail(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        """Students can change their name and their address in Canvas."""
        taught.enrol(104, "mallory", "Ben")
        taught.users[-1]["email"] = "ben@example.org"
        taught.hand_in(104, AT, ("hw.ipynb", notebook("mine")))
        roster = tmp_path / "roster.csv"
        roster.write_text(
            "login,name,email,student id\nada-l,Ada,a@b.org,s1\nleilei,李雷,l@b.org,s2\n"
            "ben,Ben,ben@example.org,s3\n"
        )
        ran = fetch(taught, tmp_path, roster=roster)
        assert {"ada-l", "leilei"} == {e.id for e in students(tmp_path).values() if e.id}
        assert "Not matched to the roster (1)" in ran.text
        assert not ran.complete

    def test_the_roster_it_writes_can_be_imported(self, taught: Canvas, tmp_path: Path) -> None:
        taught.users[0]["name"] = "=cmd()"
        fetch(taught, tmp_path)
        path = tmp_path / "class" / "roster.csv"
        assert {"canvas": "101"}.items() <= read_roster(path).people[0].keys.items()
        rows = [*csv.DictReader(io.StringIO(path.read_text()))]
        assert ["ada", "leilei", "eve"] == [each["login"] for each in rows]
        assert "'=cmd()" == rows[0]["name"]

    def test_due_dates_of_single_students_and_who_is_excused_are_written_down(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.assignment["overrides"] = [
            {"id": 1, "student_ids": [101], "due_at": "2026-12-08T22:59:00Z", "title": "1 student"},
            {"id": 2, "course_section_id": 3, "due_at": "2026-12-09T22:59:00Z"},
        ]
        taught.submissions[103]["excused"] = True
        ran = fetch(taught, tmp_path)
        found = msgspec.json.decode((tmp_path / "class" / "lms.json").read_bytes())
        assert {"101": "2026-12-08T22:59:00Z"} == found["extended"]
        assert ran.text.rstrip().endswith("--output reports")  # no gradebook counts who is late
        assert ["103"] == found["excused"]
        assert "Individual due dates in the LMS (1): ada." in ran.text
        assert "Excused in the LMS (1): eve." in ran.text
        assert "From Canvas: " in ran.text and "Layout" not in ran.text
        assert "--extend SLUG" in ran.text

    def test_extend_records_them_in_the_gradebook_once(self, taught: Canvas, small: Class) -> None:
        enrol(small.book, "ada")
        taught.assignment["overrides"] = [
            {"id": 1, "student_ids": [101, 102], "due_at": "2026-12-08T22:59:00Z"}
        ]
        first = fetch(taught, small.folder, extend="small")
        again = fetch(taught, small.folder, extend="small")
        account = small.book.accounts()[small.student("ada")]["small"]
        assert ["2026-12-08T22:59:00+00:00"] == [e.due.isoformat() for e in account.extensions]
        assert "Extended in the gradebook (1): ada." in first.text
        assert "--output reports --assignment small --handed-in" in first.text
        assert "Extended" not in again.text
        assert "Not in the gradebook's roster (1): leilei." in again.text

    def test_extend_tells_of_another_due_date_than_the_courses(
        self, taught: Canvas, small: Class
    ) -> None:
        """Lateness is counted from that in assignment.toml."""
        ran = fetch(taught, small.folder, extend="small")
        assert (
            "Different due dates for small: none in assignment.toml, 2026-12-01 22:59+00:00 in the "
            "LMS. assignment.toml decides lateness." in ran.text
        )
        small.rewrite("points = 10\n", "points = 10\ndue = 2026-12-02T00:00:00+01:00\n")
        ran = fetch(taught, small.folder, extend="small")
        assert "small: 2026-12-02 00:00+01:00 in assignment.toml, 2026-12-01 22:59" in ran.text
        small.rewrite("2026-12-02T00:00:00+01:00", "2026-12-01T23:59:00+01:00")
        assert "Different due dates" not in fetch(taught, small.folder, extend="small").text

    def test_the_import_of_the_roster_is_told_before_the_grading(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        """Reports of students who are in no gradebook are not recorded."""
        told = fetch(taught, tmp_path).text
        assert told.index("grader roster import") < told.index("grader batch")

    def test_a_folder_of_another_assignment_is_refused(
        self, taught: Canvas, moodle: Moodle, tmp_path: Path
    ) -> None:
        fetch(taught, tmp_path)
        with pytest.raises(UsageError, match="contains the class of"):
            fetch(moodle, tmp_path)

    def test_whoever_has_left_the_course_is_not_fetched(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.users = taught.users[:1]
        fetch(taught, tmp_path)
        assert {"ada"} == {*students(tmp_path)}

    def test_a_text_typed_online_is_told_and_nothing_else(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.hand_in(103, AT, submission_type="online_text_entry")
        ran = fetch(taught, tmp_path)
        assert "Submitted without a file (1): eve." in ran.text
        assert "without a submission" not in ran.text

    def test_whoever_hands_in_a_file_after_a_text_is_told_no_more(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.hand_in(103, AT, submission_type="online_text_entry")
        fetch(taught, tmp_path)
        taught.hand_in(103, "2026-12-01T21:00:00Z", ("hw.ipynb", b"{}"))
        assert "without a file" not in fetch(taught, tmp_path).text


class TestHostileFiles:
    """What students handed in goes the way of what `grader collect` unpacks."""

    def test_no_name_leads_out_of_the_folder(self, taught: Canvas, tmp_path: Path) -> None:
        taught.hand_in(103, AT, ("../../../evil.ipynb", b"{}"), ("/etc/evil", b"x"))
        ran = fetch(taught, tmp_path)
        assert {} == content(tmp_path, "eve")
        assert not [*tmp_path.rglob("evil*")]
        assert "it would be placed outside the folder" in ran.text

    def test_a_bomb_stays_packed(self, taught: Canvas, tmp_path: Path) -> None:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("hw.ipynb", bytes(200 * 2**20))
        taught.hand_in(103, AT, ("hw.zip", buffer.getvalue()))
        ran = fetch(taught, tmp_path)
        assert "hw.zip/hw.ipynb (it is too large)" in ran.text
        assert {} == content(tmp_path, "eve")
        assert not ran.complete

    def test_a_file_that_is_longer_than_was_said_is_cut_off(
        self, taught: Canvas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.lms.sync.fetch._FILE", 1000)
        taught.hand_in(103, AT, ("hw.ipynb", bytes(5000)))
        taught.submissions[103]["attachments"][0]["size"] = 10
        ran = fetch(taught, tmp_path)
        assert "eve/hw.ipynb (it is too large)" in ran.text
        assert {} == content(tmp_path, "eve")

    def test_a_file_that_is_gone_is_told_and_the_others_are_there(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.hand_in(103, AT, ("hw.ipynb", b"{}"), ("gone.txt", b"x"))
        gone = taught.submissions[103]["attachments"][1]["url"].partition("?")[0]
        taught.faults.append(lambda e: (404, {}, b"") if gone.endswith(e.path) else None)
        ran = fetch(taught, tmp_path)
        assert "eve/gone.txt (the LMS does not have the file)" in ran.text
        assert {"hw.ipynb": b"{}"} == content(tmp_path, "eve")

    def test_a_file_that_was_gone_is_asked_for_again_until_it_is_there(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.hand_in(103, AT, ("hw.ipynb", b"{}"), ("data.txt", b"x"))
        late = taught.submissions[103]["attachments"][1]["url"].partition("?")[0]
        taught.faults.append(lambda e: (404, {}, b"") if late.endswith(e.path) else None)
        fetch(taught, tmp_path)
        again = fetch(taught, tmp_path)
        assert "eve/data.txt (the LMS does not have the file)" in again.text
        assert "Unchanged: 3." in again.text
        taught.faults.clear()
        ran = fetch(taught, tmp_path)
        assert {"hw.ipynb": b"{}", "data.txt": b"x"} == content(tmp_path, "eve")
        assert ran.complete, ran.text

    def test_files_of_two_students_with_one_name_are_told_apart(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.enrol(104, "eve2", "Eve")
        taught.hand_in(103, AT, ("hw.ipynb", b"{}"))
        taught.hand_in(104, AT, ("hw.ipynb", b"{}"))
        gone = {each["attachments"][0]["id"] for each in [*taught.submissions.values()][2:]}
        paths = {f"/files/{each}/download" for each in gone}
        taught.faults.append(lambda e: (404, {}, b"") if e.path in paths else None)
        ran = fetch(taught, tmp_path)
        assert "Left out (2): eve/hw.ipynb" in ran.text
        assert "eve2/hw.ipynb" in ran.text

    def test_the_token_is_not_given_to_another_host(
        self, taught: Canvas, moodle: Moodle, tmp_path: Path
    ) -> None:
        """Canvas keeps files elsewhere: its address redirects there."""

        def elsewhere(request: Request) -> Reply | None:
            where = f"{moodle.url}/stored/hw.ipynb"
            return (302, {"Location": where}, b"") if "/files/" in request.path else None

        moodle.faults.append(lambda _: (200, {}, notebook("from elsewhere")))
        taught.faults.append(elsewhere)
        fetch(taught, tmp_path)
        assert {"hw.ipynb": notebook("from elsewhere")} == content(tmp_path, "ada")
        assert moodle.requests
        assert not any(TOKEN in str(each.headers) + each.target for each in moodle.requests)

    @pytest.mark.parametrize("what", ["next page", "redirect of the API"])
    def test_an_answer_that_leads_elsewhere_takes_no_token_along(
        self, taught: Canvas, moodle: Moodle, tmp_path: Path, what: str
    ) -> None:
        def elsewhere(request: Request) -> Reply | None:
            if not request.path.endswith("/users"):
                return None
            if what == "next page":
                return told([], Link=f'<{moodle.url}/api/v1/users?page=2>; rel="next"')
            return 302, {"Location": f"{moodle.url}/api/v1/users"}, b""

        moodle.faults.append(lambda _: told([]))
        taught.faults.append(elsewhere)
        with suppress(LmsError):
            fetch(taught, tmp_path)
        assert not any(TOKEN in str(each.headers) + each.target for each in moodle.requests)

    @pytest.mark.parametrize(
        "location",
        ["http://[", "https://a..b/x", f"https://{'a' * 300}.example/x", "https://\xff\xfe/"],
    )
    def test_an_answer_that_leads_to_no_address_is_said(
        self, taught: Canvas, tmp_path: Path, location: str
    ) -> None:
        def elsewhere(request: Request) -> Reply | None:
            return (302, {"Location": location}, b"") if request.path.endswith("/users") else None

        taught.faults.append(elsewhere)
        with pytest.raises(LmsError, match="does not match its API"):
            fetch(taught, tmp_path)

    def test_a_file_at_no_address_is_said(self, taught: Canvas, tmp_path: Path) -> None:
        for each in taught.submissions.values():
            for file in each["attachments"]:
                file["url"] = "https://a..b/x"
        with pytest.raises(LmsError, match="does not match its API"):
            fetch(taught, tmp_path)

    def test_a_name_of_thousands_of_words_takes_no_time(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        """It was turned at each word: 5,000 took 14 s."""
        taught.users[0]["name"] = "a " * 5000
        begin = time.process_time()
        fetch(taught, tmp_path)
        assert 3 > time.process_time() - begin

    def test_a_login_that_is_a_formula_is_a_login_alone(
        self, taught: Canvas, tmp_path: Path
    ) -> None:
        taught.users[0]["login_id"] = "=1+1@example.org"
        fetch(taught, tmp_path)
        path = tmp_path / "class" / "roster.csv"
        assert not any(line.startswith(("=", '"=')) for line in path.read_text().splitlines())
        assert "=1+1@example.org" in {each.id for each in read_roster(path).people}

    @pytest.mark.parametrize(
        "body",
        [
            b"<html>",
            b"[1,2]",
            b'{"a":1}',
            b"[" * 100_000,
            b'[{"id": "x"}]',
            b"\xff",
            b'[{"id": 1, "name": "\\ud800"}]',
            b'[{"id": NaN}]',
        ],
    )
    def test_what_is_no_answer_of_the_api_is_said(
        self, taught: Canvas, tmp_path: Path, body: bytes
    ) -> None:
        taught.faults.append(lambda e: (200, {}, body) if e.path.endswith("/users") else None)
        with pytest.raises(LmsError, match="does not match its API"):
            fetch(taught, tmp_path)

    def test_pages_that_name_themselves_end_where_they_are_too_long(
        self, taught: Canvas, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """5,000 pages of 32 MB were to be kept in memory."""
        monkeypatch.setattr("grader.lms.sync.session._LISTED", 10**6)
        body = json.dumps([{"id": 1, "name": "x" * 10**5}]).encode()

        def endless(request: Request) -> Reply | None:
            link = f'<{taught.url}{request.path}?page=2>; rel="next"'
            return (200, {"Link": link}, body) if request.path.endswith("/users") else None

        taught.faults.append(endless)
        with pytest.raises(LmsError, match="does not match its API"):
            fetch(taught, tmp_path)
        assert 20 > len(taught.requests)

    def test_who_is_listed_twice_is_one_student(self, taught: Canvas, tmp_path: Path) -> None:
        taught.users.append(taught.users[0])
        fetch(taught, tmp_path)
        logins = [each.id for each in read_roster(tmp_path / "class" / "roster.csv").people]
        assert sorted({each["login_id"] for each in taught.users}) == sorted(logins)


class TestMoodle:
    """A course of Moodle."""

    def test_everybody_has_a_folder_with_the_time_and_teachers_have_none(
        self, moodle: Moodle, tmp_path: Path
    ) -> None:
        moodle.enrol(11, "ada")
        moodle.enrol(12, "eve")
        moodle.enrol(13, "teacher", role="editingteacher")
        moodle.hand_in(11, 1796155000, ("hw.ipynb", notebook("first")))
        moodle.hand_in(11, 1796155200, ("hw.ipynb", notebook("second")))
        moodle.hand_in(12, 1796155200, ("hw.ipynb", notebook("draft")), status="draft")
        moodle.hand_in(13, 1796155200, ("hw.ipynb", notebook("a trial")))
        moodle.flags[12] = 1796769540
        ran = fetch(moodle, tmp_path)
        assert {"ada"} == {*students(tmp_path)}
        assert {"hw.ipynb": notebook("second")} == content(tmp_path, "ada")
        assert "2026-12-01T20:00:00+00:00" == students(tmp_path)["ada"].attempts[-1].at
        assert "11" == students(tmp_path)["ada"].keys["moodle_user"]
        assert "Individual due dates in the LMS (1): eve." in ran.text

    def test_a_file_may_have_a_name_in_any_script(self, moodle: Moodle, tmp_path: Path) -> None:
        """Its address is quoted, as Moodle does it."""
        moodle.enrol(11, "ada")
        names = ("hw 1.ipynb", "作业.ipynb", "숙제.ipynb", "Über 50 %.ipynb", "واجب #1?.ipynb")
        moodle.hand_in(11, 1796155200, *((name, notebook(name)) for name in names))
        ran = fetch(moodle, tmp_path)
        assert ran.complete, ran.text
        assert {name: notebook(name) for name in names} == content(tmp_path, "ada")

    def test_what_a_group_handed_in_is_each_members(self, moodle: Moodle, tmp_path: Path) -> None:
        moodle.enrol(11, "ada", groups=(4,))
        moodle.enrol(12, "eve", groups=(4,))
        moodle.enrol(13, "ben", groups=(5,))
        moodle.hand_in(0, 1796155200, ("hw.ipynb", notebook("ours")), group=4)
        fetch(moodle, tmp_path)
        assert {"ada", "eve"} == {*students(tmp_path)}

    def test_more_students_than_a_page_are_all_asked_for(
        self, moodle: Moodle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("grader.lms.sync.moodle._PAGE_OF_USERS", 7)
        for n in range(30):
            moodle.enrol(100 + n, f"s{n:02}")
        fetch(moodle, tmp_path)
        roster = read_roster(tmp_path / "class" / "roster.csv")
        assert [f"s{n:02}" for n in range(30)] == [each.id for each in roster.people]

    def test_functions_that_the_service_lacks_are_named(
        self, moodle: Moodle, tmp_path: Path
    ) -> None:
        moodle.functions = ("core_webservice_get_site_info",)
        with pytest.raises(LmsError, match=r"lacks .*mod_assign_save_grade"):
            fetch(moodle, tmp_path)


@pytest.mark.parametrize("name", ["canvas", "moodle"])
class TestFailures:
    """The same of both: limits, failures, tokens."""

    @pytest.fixture
    def site(self, name: str, request: pytest.FixtureRequest) -> Site:
        site = request.getfixturevalue(name)
        for n in range(20):
            site.enrol(100 + n, f"s{n:02}")
            at = AT if name == "canvas" else 1796155200
            site.hand_in(100 + n, at, ("hw.ipynb", notebook(str(n))))
        return site

    def test_a_full_bucket_is_waited_for_as_long_as_is_said(
        self, site: Site, tmp_path: Path
    ) -> None:
        full = iter([429, 403] * 3)

        def limit(request: Request) -> Reply | None:
            status = next(full, None) if len(site.requests) % 4 == 0 else None
            body = b"403 Forbidden (Rate Limit Exceeded)"
            return None if status is None else (status, {"Retry-After": "17"}, body)

        site.faults.append(limit)
        ran = fetch(site, tmp_path)
        assert [17.0] * 6 == ran.waits
        assert 20 == len(students(tmp_path))

    @pytest.mark.parametrize(
        ("said", "waited"),
        [
            ("1e9", 300.0),
            ("nan", 1.0),
            ("Mon, 01 Jan 9999 00:00:00 GMT", 300.0),
            (f"Mon, 01 Jan {10**20} 00:00:00 GMT", 1.0),
        ],
    )
    def test_no_wait_is_longer_than_some_minutes(
        self, site: Site, tmp_path: Path, said: str, waited: float
    ) -> None:
        """A year with twenty digits was an internal error."""
        full = iter([(429, {"Retry-After": said}, b"")])
        site.faults.append(lambda _: next(full, None))
        assert [waited] == fetch(site, tmp_path).waits
        assert 20 == len(students(tmp_path))

    def test_failures_are_tried_again_ever_later(self, site: Site, tmp_path: Path) -> None:
        broken = iter([500, 502, 0])
        site.faults.append(
            lambda _: (s, {}, b"") if (s := next(broken, None)) is not None else None
        )
        assert [1.0, 2.0, 4.0] == fetch(site, tmp_path).waits
        assert 20 == len(students(tmp_path))

    def test_one_that_stays_is_said_and_the_next_call_goes_on(
        self, site: Site, tmp_path: Path
    ) -> None:
        site.faults.append(lambda e: (503, {}, b"") if len(site.requests) > 15 else None)
        with pytest.raises(LmsError, match="failed with status 503"):
            fetch(site, tmp_path)
        site.faults.clear()
        assert fetch(site, tmp_path).complete
        assert 20 == len(students(tmp_path))

    def test_an_expired_token_is_said_without_it(self, site: Site, tmp_path: Path) -> None:
        def expire(_: Request) -> Reply | None:
            site.token = "another" if len(site.requests) > 2 else site.token
            return None

        site.faults.append(expire)
        with pytest.raises(LmsError, match="wrong, has expired, or was deleted") as caught:
            fetch(site, tmp_path)
        assert TOKEN not in str(caught.value) + caught.value.hint.english
        assert not any(
            TOKEN.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
        )
