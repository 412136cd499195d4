"""Pushing grades: nobody else's is overwritten, and the same again changes nothing."""

from __future__ import annotations

import re
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from grader.errors import LmsError, UsageError
from grader.gradebook.grades import derive_all
from grader.lms.sync.journal import JOURNAL
from tests.gradebook.factory import enrol
from tests.gradebook.small_class import SLUG, Class
from tests.lms.sync.commands import fetch, push
from tests.lms.sync.conftest import notebook
from tests.lms.sync.servers import Canvas, Moodle, Reply, Request, Site

USERS = {"ada": 101, "ben": 102, "eve": 103}
SHARES = {"ada": 1.0, "ben": 0.5, "eve": 0.0}
POINTS = {"ada": 10.0, "ben": 7.0, "eve": 4.0}
"""Structure has 4 points, and the outputs have 6."""


def class_of(site: Site, small: Class) -> Site:
    """Fetch a class of three and grade it."""
    for login, user in USERS.items():
        site.enrol(user, login)
        at = "2026-12-01T20:00:00Z" if isinstance(site, Canvas) else 1796155200
        site.hand_in(user, at, ("hw.ipynb", notebook(login)))
    fetch(site, small.folder)
    enrol(small.book, *USERS)
    small.grade_all(SHARES)
    return site


@pytest.fixture(params=["canvas", "moodle"])
def site(request: pytest.FixtureRequest, small: Class) -> Site:
    return class_of(request.getfixturevalue(request.param), small)


@pytest.fixture
def taught(canvas: Canvas, small: Class) -> Canvas:
    class_of(canvas, small)
    return canvas


@pytest.fixture
def school(moodle: Moodle, small: Class) -> Moodle:
    class_of(moodle, small)
    return moodle


def standing(site: Site) -> dict[str, float | None]:
    """Return the points that stand there."""
    if isinstance(site, Canvas):
        return {login: site.submissions[user]["entered_score"] for login, user in USERS.items()}
    assert isinstance(site, Moodle)
    return {
        login: float(site.grades[user]["grade"]) if user in site.grades else None
        for login, user in USERS.items()
    }


def pages(site: Site) -> dict[str, list[str]]:
    """Return the pages that stand there, and see that each is its student's."""
    found: dict[str, list[str]] = {}
    for login, user in USERS.items():
        if isinstance(site, Canvas):
            files = [
                site.files[file["id"]]
                for comment in site.submissions[user]["submission_comments"]
                for file in comment["attachments"]
            ]
        else:
            files = site.grades[user]["files"] if user in site.grades else []
        assert all(login.title() in content.decode() for _, content in files)
        found[login] = [name for name, _ in files]
    return found


def regrade(small: Class, login: str, share: float) -> None:
    """Give a student another grade."""
    from grader.gradebook.book import Recounted
    from tests.gradebook.small_class import about

    (attempt,) = small.book.accounts()[small.student(login)][SLUG].attempts
    report = about(small.report(b"", share), login.encode())
    small.book.supersede([(attempt.id, Recounted(report))])


class TestBoth:
    """Canvas and Moodle alike."""

    def test_points_and_pages_arrive_once(self, site: Site, small: Class) -> None:
        ran = push(site, small.folder)
        assert ran.complete
        assert "Written: 3." in ran.text
        assert POINTS == standing(site)
        assert dict.fromkeys(USERS, 1) == {who: len(each) for who, each in pages(site).items()}

    def test_the_same_again_changes_nothing(self, site: Site, small: Class) -> None:
        push(site, small.folder)
        writes, requests = dict(site.writes), len(site.requests)
        ran = push(site, small.folder)
        assert writes == dict(site.writes)
        assert not any(e.method == "PUT" or "upload" in e.path for e in site.requests[requests:])
        assert "Unchanged: 3. Nothing was written." in ran.text
        assert ran.complete

    def test_without_the_journal_what_stands_there_is_as_good(
        self, site: Site, small: Class
    ) -> None:
        push(site, small.folder)
        (small.folder / "class" / JOURNAL).unlink()
        assert push(site, small.folder).complete
        assert dict.fromkeys(USERS.values(), 1) == dict(site.writes)

    def test_nothing_that_is_written_or_told_has_the_token(self, site: Site, small: Class) -> None:
        ran = push(site, small.folder)
        assert site.token not in ran.text
        files = [path for path in small.folder.rglob("*") if path.is_file()]
        assert small.folder / "class" / JOURNAL in files
        assert not any(site.token.encode() in path.read_bytes() for path in files)

    def test_a_dry_run_shows_the_table_and_writes_nothing(self, site: Site, small: Class) -> None:
        site.enter(USERS["eve"], 9)
        ran = push(site, small.folder, dry_run=True)
        assert re.search(
            r"ada – 10 ben – 7 eve 9 – a different grade was entered in the LMS; here: 4", ran.text
        )
        assert not site.writes
        assert not ran.complete

    def test_without_an_answer_nothing_is_written(self, site: Site, small: Class) -> None:
        asked = []
        ran = push(site, small.folder, ask=lambda question: asked.append(question.english))
        assert ["Write 3 grades?"] == asked
        assert not site.writes
        assert "Nothing was written." in ran.text

    def test_what_somebody_else_entered_stays(self, site: Site, small: Class) -> None:
        site.enter(USERS["ada"], 3)
        ran = push(site, small.folder)
        assert {**POINTS, "ada": 3.0} == standing(site)
        assert "ada 3 – a different grade was entered in the LMS; here: 10" in ran.text
        assert "--overwrite" in ran.text
        assert not ran.complete

    def test_unless_that_is_asked_for(self, site: Site, small: Class) -> None:
        site.enter(USERS["ada"], 3)
        assert push(site, small.folder, overwrite=True).complete
        assert POINTS == standing(site)

    def test_an_own_grade_that_has_changed_is_replaced(self, site: Site, small: Class) -> None:
        push(site, small.folder)
        regrade(small, "ben", 1.0)
        assert push(site, small.folder).complete
        assert {**POINTS, "ben": 10.0} == standing(site)

    def test_a_pushed_grade_that_somebody_changed_since_stays(
        self, site: Site, small: Class
    ) -> None:
        push(site, small.folder)
        site.enter(USERS["ben"], 8)
        regrade(small, "ben", 1.0)
        assert not push(site, small.folder).complete
        assert 8.0 == standing(site)["ben"]

    def test_what_is_entered_between_plan_and_write_stays(self, site: Site, small: Class) -> None:
        def meanwhile(_: object) -> bool:
            site.enter(USERS["eve"], 9)
            return True

        ran = push(site, small.folder, ask=meanwhile)
        assert {**POINTS, "eve": 9.0} == standing(site)
        assert "Changed in the LMS in the meantime, and skipped (1): eve." in ran.text
        assert not ran.complete

    def test_who_is_not_matched_is_told(self, site: Site, small: Class) -> None:
        enrol(small.book, "zoe")
        small.grade_all({"zoe": 1.0})
        ran = push(site, small.folder)
        assert "zoe – – not matched to a user in the LMS" in ran.text
        column = "Canvas user ID" if isinstance(site, Canvas) else "Moodle user ID"
        assert f"Unmatched students: add the column '{column}' to the roster" in ran.text
        assert not ran.complete

    def test_who_handed_in_nothing_is_named_and_keeps_a_grade_there(
        self, site: Site, small: Class
    ) -> None:
        """A teacher learns that nothing is done about them; it is no fault."""
        enrol(small.book, "zoe", "yan")
        site.enrol(104, "zoe")
        site.enter(104, 3.0)  # type: ignore[attr-defined]
        ran = push(site, small.folder)
        assert "Without a submission, and left unchanged (2): yan, zoe." in ran.text
        assert ran.complete
        assert 3.0 == (
            site.submissions[104]["entered_score"]
            if isinstance(site, Canvas)
            else float(site.grades[104]["grade"])  # type: ignore[attr-defined]
        )
        assert 0 == site.writes[104]

    def test_of_scaling_only_that_of_pushed_grades_is_told(self, site: Site, small: Class) -> None:
        """A grade that is not marked yet is out of fewer points, and goes nowhere."""
        if isinstance(site, Canvas):
            site.assignment["points_possible"] = 15
        else:
            site.points = 15  # type: ignore[attr-defined]
        small.weigh(10)
        enrol(small.book, "zoe")
        small.grade_all({"zoe": 1.0})  # nobody there
        ran = push(site, small.folder)
        assert "zoe – – not matched" in ran.text
        assert "out of 10 here and out of 15 in" in ran.text
        assert "out of 14" not in ran.text

    def test_who_has_left_the_course_gets_nothing(self, site: Site, small: Class) -> None:
        site.users = [each for each in site.users if each["id"] != USERS["eve"]]
        assert "eve – – not in the LMS's course" in push(site, small.folder).text
        assert None is standing(site)["eve"]

    @pytest.mark.parametrize("points", [1e26, 1e300])
    def test_points_that_no_gradebook_has_end_it(
        self, site: Site, small: Class, points: float
    ) -> None:
        """They were an internal error."""
        if isinstance(site, Canvas):
            site.enter(101, points)
        else:
            assert isinstance(site, Moodle)
            site.grades[101] = {"grade": str(points), "files": [], "text": ""}
        with pytest.raises(LmsError, match="does not match its API"):
            push(site, small.folder)
        assert not site.writes

    def test_a_maximum_that_no_gradebook_has_ends_it(self, site: Site, small: Class) -> None:
        if isinstance(site, Canvas):
            site.assignment["points_possible"] = 1e300
        else:
            assert isinstance(site, Moodle)
            site.points = 1e300
        with pytest.raises(LmsError, match="does not match its API"):
            push(site, small.folder)
        assert not site.writes

    def test_points_are_scaled_to_the_maximum_there(self, site: Site, small: Class) -> None:
        if isinstance(site, Canvas):
            site.assignment["points_possible"] = 15
        else:
            site.points = 15
        ran = push(site, small.folder)
        assert {"ada": 15.0, "ben": 10.5, "eve": 6.0} == standing(site)
        assert "Points are out of 10 here and out of 15 in" in ran.text

    def test_a_page_that_changes_alone_is_told(self, site: Site, small: Class) -> None:
        assert "out of" not in push(site, small.folder, pages=False).text
        assert "ada 10 feedback only" in push(site, small.folder).text

    def test_without_pages_points_alone_are_pushed(self, site: Site, small: Class) -> None:
        push(site, small.folder, pages=False)
        assert POINTS == standing(site)
        assert {login: [] for login in USERS} == pages(site)

    def test_a_token_that_expires_midway_stops_it_and_what_is_done_is_done(
        self, site: Site, small: Class
    ) -> None:
        good = site.token

        def expire(_: Request) -> Reply | None:
            site.token = "another" if sum(site.writes.values()) >= 2 else good
            return None

        site.faults.append(expire)
        with pytest.raises(LmsError, match="has expired") as caught:
            push(site, small.folder)
        assert "Written before that: 2 of 3." in caught.value.ran.text  # type: ignore[attr-defined]
        site.faults.clear()
        site.token = good
        assert push(site, small.folder).complete
        assert POINTS == standing(site)
        assert {1} == {*site.writes.values()}

    @pytest.mark.parametrize("status", [500, 502, 0])
    def test_a_write_that_was_done_and_seemed_to_fail_is_not_done_twice(
        self, site: Site, small: Class, status: int
    ) -> None:
        failing = iter([status] * 2)

        def lose(request: Request) -> Reply | None:
            is_write = request.method == "PUT" or "save_grade" in request.one("wsfunction")
            found = next(failing, None) if is_write else None
            return None if found is None else (found, {}, b"")

        site.late_faults.append(lose)
        assert push(site, small.folder).complete
        assert POINTS == standing(site)
        assert [1, 1, 1] == [len(each) for each in pages(site).values()]

    def test_a_full_bucket_is_waited_for(self, site: Site, small: Class) -> None:
        def limit(_: Request) -> Reply | None:
            is_full = len(site.requests) % 3 == 0
            return (429, {"Retry-After": "5"}, b"") if is_full else None

        site.faults.append(limit)
        ran = push(site, small.folder)
        assert POINTS == standing(site)
        assert {5.0} == {*ran.waits}
        assert {1} == {*site.writes.values()}

    def test_a_folder_that_was_not_fetched_is_refused(self, site: Site, small: Class) -> None:
        (small.folder / "class" / "lms.json").unlink()
        with pytest.raises(UsageError, match=r"was not fetched from.*: lms\.json is missing"):
            push(site, small.folder)

    def test_so_is_one_that_was_fetched_from_another_system(self, site: Site, small: Class) -> None:
        """It was said that lms.json is missing, which was there."""
        here, other = ("Canvas", "moodle") if isinstance(site, Canvas) else ("Moodle", "canvas")
        with pytest.raises(UsageError, match=f"was fetched from {here}, not from {other.title()}"):
            push(site, small.folder, platform=other)


class TestCanvas:
    """What Canvas alone has."""

    def test_who_is_excused_stays_so(self, taught: Canvas, small: Class) -> None:
        taught.submissions[USERS["eve"]]["excused"] = True
        ran = push(taught, small.folder, overwrite=True)
        assert "eve EX – excused in the LMS" in ran.text
        assert None is standing(taught)["eve"]
        assert ran.complete

    def test_a_grade_that_was_removed_there_is_not_entered_again(
        self, taught: Canvas, small: Class
    ) -> None:
        push(taught, small.folder)
        taught.enter(USERS["ada"], None)
        assert "the grade was removed in the LMS" in push(taught, small.folder).text
        assert None is standing(taught)["ada"]

    def test_a_comment_says_that_there_is_a_page_and_no_points(
        self, taught: Canvas, small: Class
    ) -> None:
        push(taught, small.folder, language="zh")
        (comment,) = taught.submissions[USERS["ada"]]["submission_comments"]
        assert not re.search(r"\d", comment["comment"])
        assert re.search("[一-鿿]", comment["comment"])

    def test_a_page_of_the_same_name_that_the_student_attached_counts_for_nothing(
        self, taught: Canvas, small: Class
    ) -> None:
        push(taught, small.folder)
        own = taught.submissions[USERS["ada"]]
        own["submission_comments"][0]["author_id"] = USERS["ada"]
        own |= {"entered_score": None, "score": None}
        (small.folder / "class" / JOURNAL).unlink()
        push(taught, small.folder)
        assert 2 == len(pages(taught)["ada"])

    def rubric(self, taught: Canvas, name: str) -> None:
        ratings = [{"id": "r1", "points": 5}, {"id": "r2", "points": 0}]
        row = {"id": "_7", "description": name, "points": 5, "ratings": ratings}
        taught.assignment["rubric"] = [row]

    def part(self, small: Class) -> str:
        return small.assignment.part[0].id

    def test_ratings_are_given_where_rows_are_called_as_parts(
        self, taught: Canvas, small: Class
    ) -> None:
        self.rubric(taught, self.part(small).upper())
        push(taught, small.folder)
        assert {"_7": {"points": 3.5}} == taught.submissions[USERS["ben"]]["rubric_assessment"]

    def test_none_are_given_where_a_row_is_called_otherwise(
        self, taught: Canvas, small: Class
    ) -> None:
        self.rubric(taught, "Style")
        push(taught, small.folder)
        assert {} == taught.submissions[USERS["ben"]]["rubric_assessment"]

    def test_none_where_the_rubric_would_make_another_grade(
        self, taught: Canvas, small: Class
    ) -> None:
        self.rubric(taught, self.part(small))
        taught.assignment["use_rubric_for_grading"] = True
        push(taught, small.folder)
        assert {} == taught.submissions[USERS["ben"]]["rubric_assessment"]
        assert POINTS == standing(taught)

    def test_somebodys_ratings_stay(self, taught: Canvas, small: Class) -> None:
        self.rubric(taught, self.part(small))
        mine = {"_7": {"points": 1.0}}
        taught.submissions[USERS["ben"]]["rubric_assessment"] = dict(mine)
        assert "someone used the rubric in the LMS" in push(taught, small.folder).text
        assert mine == taught.submissions[USERS["ben"]]["rubric_assessment"]
        assert None is standing(taught)["ben"]

    def test_what_canvas_takes_for_lateness_besides_is_told(
        self, taught: Canvas, small: Class
    ) -> None:
        push(taught, small.folder)
        taught.submissions[USERS["ada"]] |= {"score": 8.0, "points_deducted": 2.0}
        ran = push(taught, small.folder)
        assert "also deducts points for lateness (1): ada." in ran.text
        assert "Unchanged: 3." in ran.text

    def test_an_assignment_without_points_is_refused(self, taught: Canvas, small: Class) -> None:
        taught.assignment["grading_type"] = "pass_fail"
        with pytest.raises(UsageError, match="not graded by points"):
            push(taught, small.folder)


class TestMoodle:
    """What Moodle alone has: a push replaces comment and files."""

    def test_a_comment_of_somebody_stays(self, school: Moodle, small: Class) -> None:
        school.enter(USERS["ada"], 10, "<p>Well done, see me.</p>")
        ran = push(school, small.folder)
        assert "someone wrote a comment or attached a file in the LMS" in ran.text
        assert "<p>Well done, see me.</p>" == school.grades[USERS["ada"]]["text"]

    def test_a_grade_that_is_not_released_yet_stays_too(self, school: Moodle, small: Class) -> None:
        school.released = False
        school.enter(USERS["ada"], 3)
        push(school, small.folder)
        assert 3.0 == standing(school)["ada"]

    def test_a_rubric_there_is_refused(self, school: Moodle, small: Class) -> None:
        from grader.lms.sync.moodle import NEEDED

        name = "core_grading_get_definitions"
        school.functions = (*NEEDED, name)
        areas = {"areas": [{"areaname": "submissions", "activemethod": "rubric"}]}
        setattr(school, name, lambda _: areas)
        with pytest.raises(UsageError, match="not graded by points"):
            push(school, small.folder)


class TestOwners:
    """Whose a grade is, the system's number alone says."""

    def test_two_students_with_one_user_get_nothing(self, taught: Canvas, small: Class) -> None:
        enrol(small.book, "zoe")
        small.grade_all({"zoe": 1.0})
        path = small.folder / "class" / "collected.json"
        manifest = msgspec.json.decode(path.read_bytes())
        double = {**manifest["students"][0], "id": "zoe", "folder": "zoe"}
        manifest["students"].append(double)
        path.write_bytes(msgspec.json.encode(manifest))
        ran = push(taught, small.folder)
        assert "ada – – not matched" in ran.text
        assert "zoe – – not matched" in ran.text
        assert None is standing(taught)["ada"]

    def test_a_number_of_the_roster_counts_where_nothing_was_handed_in_there(
        self, taught: Canvas, small: Class
    ) -> None:
        from grader.gradebook.entries import RosterEntry, plan

        entry = RosterEntry("zoe", {"name": "Zoe"}, {"Canvas user ID": "104"})
        small.book.change_students(plan(small.book.students(), [entry]))
        small.grade_all({"zoe": 1.0})
        taught.enrol(104, "zoe")
        push(taught, small.folder)
        assert 10.0 == taught.submissions[104]["entered_score"]


def test_two_commands_at_once_are_refused(taught: Canvas, small: Class) -> None:
    def second(_: object) -> bool:
        with pytest.raises(UsageError, match="Another command is pushing"):
            push(taught, small.folder)
        return True

    assert push(taught, small.folder, ask=second).complete


def test_the_journal_of_a_killed_command_may_end_anywhere(taught: Canvas, small: Class) -> None:
    push(taught, small.folder)
    path: Path = small.folder / "class" / JOURNAL
    path.write_bytes(path.read_bytes()[:-7])
    regrade(small, "eve", 0.5)
    assert push(taught, small.folder).complete
    grades = derive_all(small.book.accounts()[small.student("eve")].values())
    assert grades[SLUG].points == Decimal(7)
    assert 7.0 == standing(taught)["eve"]
