"""Any LMS by LTI 1.3: grades arrive once, and nobody else's are overwritten."""

from __future__ import annotations

import csv
import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from grader.errors import LmsError, MistakeError, UsageError
from grader.gradebook.entries import plan, read_roster
from grader.lms.sync.journal import JOURNAL
from grader.lms.sync.source import connected_tool
from grader.lms.sync.tool import find_tool_key
from tests.gradebook.factory import enrol
from tests.gradebook.small_class import Class
from tests.lms.sync.commands import fetch_students, push
from tests.lms.sync.lti_server import AGS, CLIENT, LEARNER, PEM, Lti
from tests.lms.sync.servers import Reply, Request
from tests.lms.sync.test_push import POINTS, SHARES, regrade

USERS = {"ada": "u-101", "ben": "u-102", "eve": "u-103"}
ROLE = "http://purl.imsglobal.org/vocab/lis/v2"


def by_user(points: dict[str, float]) -> dict[str, float]:
    return {USERS[login]: each for login, each in points.items()}


@pytest.fixture
def site(lti: Lti, small: Class) -> Lti:
    """A class of three that was fetched, imported and graded."""
    for login, user in USERS.items():
        lti.enrol(user, login)
    fetch_students(small.folder)
    entries = read_roster(small.folder / "class" / "roster.csv")
    small.book.change_students(plan((), entries))
    small.grade_all(SHARES)
    return lti


class TestFetch:
    """The students, by Names and Role Provisioning Services."""

    def roster(self, folder: Path) -> list[dict[str, str]]:
        with (folder / "class" / "roster.csv").open() as file:
            return [*csv.DictReader(file)]

    def test_those_who_learn_in_the_course_and_are_active(self, lti: Lti, small: Class) -> None:
        lti.page = 2
        lti.enrol("a", "ada", LEARNER)
        lti.enrol("b", "ben", "Learner")
        lti.enrol("c", "cy", f"{ROLE}/membership/Learner#GuestLearner")
        lti.enrol("d", "dan", f"{ROLE}/membership#Instructor", f"{ROLE}/institution/person#Learner")
        lti.enrol("e", "eve", f"{ROLE}/membership#Mentor")
        lti.enrol(
            "f", "fake", LEARNER, "http://purl.imsglobal.org/vocab/lti/system/person#TestUser"
        )
        lti.enrol("g", "gone", LEARNER, status="Deleted")
        lti.enrol("a", "ada", LEARNER)
        assert fetch_students(small.folder).complete
        found = self.roster(small.folder)
        assert [("ada", "a"), ("ben", "b"), ("cy", "c")] == [
            (each["login"], each["LTI user ID"]) for each in found
        ]

    def test_in_an_own_roster_numbers_of_the_registrar_say_who_is_who(
        self, lti: Lti, small: Class, tmp_path: Path
    ) -> None:
        lti.enrol("a", "1001")
        lti.enrol("b", "1002")
        lti.enrol("c", "9999")
        lti.users[2] |= {"name": "Ada Lovelace", "email": "ada@example.org"}
        own = tmp_path / "own.csv"
        own.write_text(
            "login,name,email,student id\nada,Ada Lovelace,ada@example.org,1001\nben,Ben,,1002\n"
        )
        ran = fetch_students(small.folder, roster=own)
        assert "Not matched to the roster (1): Ada Lovelace." in ran.text
        assert not ran.complete
        assert [("ada", "a"), ("ben", "b")] == [
            (each["login"], each["LTI user ID"]) for each in self.roster(small.folder)
        ]

    def test_a_roster_keeps_the_ids(self, site: Lti, small: Class) -> None:
        assert site
        assert USERS == {each.login: each.lms["LTI user ID"] for each in small.book.students()}

    def test_a_folder_of_another_course_is_refused(self, site: Lti, small: Class) -> None:
        path = small.folder / "course.toml"
        path.write_text(path.read_text().replace("/lti/5/lineitems", "/lti/6/lineitems"))
        with pytest.raises(UsageError, match="contains the class of"):
            fetch_students(small.folder)
        with pytest.raises(UsageError, match="contains the class of"):
            push(site, small.folder)

    def test_without_a_registration_the_page_is_named(self, lti: Lti, small: Class) -> None:
        assert lti
        (small.folder / "course.toml").unlink()
        with pytest.raises(UsageError, match=r"has no \[lti\]"):
            fetch_students(small.folder)


class TestPush:
    """Points and comments, by Assignment and Grade Services."""

    def test_the_first_grade_makes_the_column(self, site: Lti, small: Class) -> None:
        ran = push(site, small.folder)
        assert ran.complete
        assert "There is no such column yet: the first grade makes it." in ran.text
        assert "Written: 3." in ran.text
        (item,) = site.items.values()
        assert ("small", "tvm-grader", 10) == (
            item["resourceId"],
            item["tag"],
            item["scoreMaximum"],
        )
        assert by_user(POINTS) == site.standing()

    def test_the_same_again_changes_nothing(self, site: Lti, small: Class) -> None:
        push(site, small.folder)
        count = len(site.requests)
        ran = push(site, small.folder)
        assert "Unchanged: 3. Nothing was written." in ran.text
        assert ran.complete
        again = [e for e in site.requests[count:] if e.path != "/token"]
        assert {"GET"} == {each.method for each in again}
        assert 1 == len(site.items)

    @pytest.mark.parametrize("maximum", [1, 100, 30])
    def test_results_may_be_told_out_of_another_maximum(
        self, site: Lti, small: Class, maximum: float
    ) -> None:
        site.maximum = maximum
        assert push(site, small.folder).complete
        assert "Unchanged: 3." in push(site, small.folder).text

    def test_a_system_that_keeps_no_tags_has_one_column_all_the_same(
        self, site: Lti, small: Class
    ) -> None:
        site.keeps_tags = False
        push(site, small.folder)
        assert "Unchanged: 3." in push(site, small.folder).text
        assert 1 == len(site.items)

    def test_a_dry_run_makes_no_column(self, site: Lti, small: Class) -> None:
        ran = push(site, small.folder, dry_run=True)
        assert "ada – 10 ben – 7 eve – 4" in ran.text
        assert not ran.complete
        assert not site.items

    def test_the_comment_has_the_points_of_the_parts(self, site: Lti, small: Class) -> None:
        push(site, small.folder)
        title = small.assignment.part[0].named.english
        assert f"Points by part: {title}: 7 of 10." == site.results[1, USERS["ben"]]["comment"]

    def test_after_an_adjustment_it_says_that_they_are_not_the_grade(
        self, site: Lti, small: Class
    ) -> None:
        from decimal import Decimal

        (attempt,) = small.book.accounts()[small.student("ben")]["small"].attempts
        small.book.adjust(attempt.id, part="", points=Decimal(1), reason="kind", who="zoe")
        push(site, small.folder)
        told = site.results[1, USERS["ben"]]["comment"]
        assert told.startswith("Points by part, before penalties and adjustments: ")
        assert 8.0 == site.standing()[USERS["ben"]]

    def test_without_a_comment_there_is_none(self, site: Lti, small: Class) -> None:
        push(site, small.folder, pages=False)
        assert {""} == {each["comment"] for each in site.results.values()}
        assert "Unchanged: 3." in push(site, small.folder, pages=False).text

    def test_a_column_there_is_named_by_its_label(self, site: Lti, small: Class) -> None:
        site.add_item("Project", 20)
        number = site.add_item("Homework", 20, resourceId="else")
        push(site, small.folder, column="Homework")
        assert {"u-101": 20.0, "u-102": 14.0, "u-103": 8.0} == site.standing(number)
        assert 2 == len(site.items)

    def test_a_label_of_none_or_of_two_is_refused(self, site: Lti, small: Class) -> None:
        site.add_item("Homework")
        site.add_item("Homework")
        with pytest.raises(UsageError, match="2 columns there belong to Homework") as caught:
            push(site, small.folder, column="Homework")
        assert "/lineitems/2/lineitem" in caught.value.hint.english
        with pytest.raises(UsageError, match="no column 'Quiz'"):
            push(site, small.folder, column="Quiz")

    def test_columns_of_other_assignments_are_left_alone(self, site: Lti, small: Class) -> None:
        site.page = 1
        site.add_item(small.assignment.named.english, tag="tvm-grader", resourceId="other")
        site.add_item("Quiz")
        push(site, small.folder)
        assert 3 == len(site.items)
        assert by_user(POINTS) == site.standing(3)

    def test_what_somebody_else_entered_stays(self, site: Lti, small: Class) -> None:
        push(site, small.folder)
        regrade(small, "ben", 1.0)
        site.enter(USERS["ben"], 3.0)
        ran = push(site, small.folder)
        assert "ben 3 – a different grade was entered" in ran.text
        assert 3.0 == site.standing()[USERS["ben"]]
        assert push(site, small.folder, overwrite=True).complete
        assert 10.0 == site.standing()[USERS["ben"]]

    def test_somebodys_comment_stays(self, site: Lti, small: Class) -> None:
        push(site, small.folder)
        regrade(small, "ben", 1.0)
        site.enter(USERS["ben"], 7.0, "See me.")
        ran = push(site, small.folder)
        assert "wrote a comment" in ran.text
        assert "See me." == site.results[1, USERS["ben"]]["comment"]

    def test_the_own_comment_is_known_again_within_tags(self, site: Lti, small: Class) -> None:
        push(site, small.folder)
        for each in site.results.values():
            each["comment"] = f"<p>{each['comment'].replace(':', '&#58;')}</p>\n"
        assert "Unchanged: 3." in push(site, small.folder).text
        regrade(small, "ben", 1.0)
        assert push(site, small.folder).complete

    def test_a_system_that_tells_no_comments_is_not_written_to_again(
        self, site: Lti, small: Class
    ) -> None:
        push(site, small.folder)
        for each in site.results.values():
            each["comment"] = ""
        assert "Unchanged: 3." in push(site, small.folder).text

    def test_without_the_journal_what_stands_there_is_as_good(
        self, site: Lti, small: Class
    ) -> None:
        push(site, small.folder)
        (small.folder / "class" / JOURNAL).unlink()
        assert "Unchanged: 3." in push(site, small.folder).text

    def test_what_is_entered_between_plan_and_write_stays(self, site: Lti, small: Class) -> None:
        site.add_item("x", tag="tvm-grader", resourceId="small")

        def meanwhile(_: object) -> bool:
            site.enter(USERS["eve"], 9.0)
            return True

        ran = push(site, small.folder, ask=meanwhile)
        assert by_user({**POINTS, "eve": 9.0}) == site.standing()
        assert "Changed in the LMS in the meantime, and skipped (1): eve." in ran.text

    def test_who_is_not_known_there_gets_nothing(self, site: Lti, small: Class) -> None:
        enrol(small.book, "zoe")
        small.grade_all({"zoe": 1.0})
        site.users = [each for each in site.users if each["user_id"] != USERS["eve"]]
        ran = push(site, small.folder)
        assert "zoe – – not matched to a user in the LMS" in ran.text
        assert "eve – – not in the LMS's course" in ran.text

    def test_a_system_that_keeps_other_points_is_told(self, site: Lti, small: Class) -> None:
        def round_down(_: Request) -> Reply | None:
            if (1, USERS["ben"]) in site.results:
                site.results[1, USERS["ben"]]["score"] = 6.0
            return None

        site.faults.append(round_down)
        ran = push(site, small.folder)
        assert "The LMS shows other points than were pushed (1): ben." in ran.text
        assert not ran.complete


class TestFailures:
    """Nothing is written twice or lost, whatever fails."""

    @pytest.mark.parametrize("status", [500, 503, 0])
    def test_a_score_that_arrived_and_seemed_to_fail_is_not_posted_twice(
        self, site: Lti, small: Class, status: int
    ) -> None:
        failing = iter([status] * 2)

        def lose(request: Request) -> Reply | None:
            found = next(failing, None) if request.path.endswith("/scores") else None
            return None if found is None else (found, {}, b"")

        site.late_faults.append(lose)
        assert push(site, small.folder).complete
        assert by_user(POINTS) == site.standing()
        assert {1} == {*site.writes.values()}

    def test_a_column_that_was_made_and_seemed_not_to_be_is_one_column(
        self, site: Lti, small: Class
    ) -> None:
        failing = iter([502, 0])

        def lose(request: Request) -> Reply | None:
            is_made = request.method == "POST" and request.path.endswith("/lineitems")
            found = next(failing, None) if is_made else None
            return None if found is None else (found, {}, b"")

        site.late_faults.append(lose)
        assert push(site, small.folder).complete
        assert 1 == len(site.items)
        assert by_user(POINTS) == site.standing()

    def test_a_full_bucket_is_waited_for(self, site: Lti, small: Class) -> None:
        def limit(_: Request) -> Reply | None:
            return (429, {"Retry-After": "5"}, b"") if len(site.requests) % 3 == 0 else None

        site.faults.append(limit)
        ran = push(site, small.folder)
        assert by_user(POINTS) == site.standing()
        assert {5.0} == {*ran.waits}
        assert {1} == {*site.writes.values()}

    def test_a_token_that_expires_midway_is_asked_for_again(self, site: Lti, small: Class) -> None:
        site.uses = 3
        assert push(site, small.folder).complete
        assert by_user(POINTS) == site.standing()
        assert {1} == {*site.writes.values()}
        assert 3 < len(site.assertions)

    def test_it_is_asked_for_before_it_expires(self, site: Lti, small: Class) -> None:
        assert small
        from grader.course_settings import load_settings

        now = [datetime(2026, 1, 1, tzinfo=timezone.utc)]
        settings = load_settings(small.folder).lti
        assert settings is not None
        environment = {"LTI_KEY": PEM.decode()}
        before = len(site.tokens)
        real = datetime.now(timezone.utc)
        now[0] = real
        with connected_tool(settings, environment, (), lambda _: None, lambda: now[0]) as platform:
            platform.people()
            now[0] = real + timedelta(seconds=3000)
            platform.people()
            assert 1 == len(site.tokens) - before
            now[0] = real + timedelta(seconds=3545)
            with pytest.raises(LmsError):  # the server's clock finds the assertion early
                platform.people()

    def test_a_token_that_never_counts_ends_it(self, site: Lti, small: Class) -> None:
        site.uses = 0
        with pytest.raises(LmsError, match="does not allow the tool that"):
            push(site, small.folder)
        assert 6 > len(site.tokens)

    def test_another_key_gets_no_token(
        self, site: Lti, small: Class, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from cryptography.hazmat.primitives.asymmetric import rsa
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        form = (Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        monkeypatch.setenv("LTI_KEY", other.private_bytes(*form).decode())
        with pytest.raises(LmsError, match="gives the tool no token") as caught:
            push(site, small.folder)
        assert "public-key" in caught.value.hint.english

    def test_where_no_columns_may_be_made_one_can_be_named(self, site: Lti, small: Class) -> None:
        site.may_make = False
        with pytest.raises(LmsError, match="does not make a column") as caught:
            push(site, small.folder)
        assert "--column" in caught.value.hint.english
        site.add_item("Homework")
        assert push(site, small.folder, column="Homework").complete

    def test_a_score_with_a_later_time_is_not_replaced(self, site: Lti, small: Class) -> None:
        push(site, small.folder)
        regrade(small, "ben", 1.0)
        site.results[1, USERS["ben"]]["at"] = datetime(2100, 1, 1, tzinfo=timezone.utc)
        with pytest.raises(LmsError, match="has a score with a later time"):
            push(site, small.folder)
        assert 7.0 == site.standing()[USERS["ben"]]

    @pytest.mark.parametrize(
        "body",
        [
            b"[1, 2]",
            b"{}",
            b"[",
            b"[" * 100_000,
            b'[{"userId": "u-101", "resultScore": NaN}]',
            b'[{"userId": "u-101", "resultScore": 1e999}]',
            b'[{"userId": "u-101", "resultScore": -4}]',
            b'[{"userId": "u-101", "resultScore": 1e300}]',
            b'[{"userId": "u-101", "resultScore": 9, "resultMaximum": 1e-300}]',
            b'[{"userId": ["u-101"], "resultScore": 4}]',
        ],
    )
    def test_results_that_are_none_end_it(self, site: Lti, small: Class, body: bytes) -> None:
        push(site, small.folder)
        regrade(small, "ben", 1.0)
        writes = dict(site.writes)
        site.faults.append(lambda e: (200, {}, body) if e.path.endswith("/results") else None)
        with pytest.raises(LmsError, match="does not match its API"):
            push(site, small.folder)
        assert writes == dict(site.writes)

    def test_the_token_goes_to_no_other_site(self, site: Lti, small: Class) -> None:
        from tests.lms.sync.servers import Canvas, running

        with running(Canvas()) as other:
            number = site.add_item("Homework")
            site.items[number]["id"] = f"{other.url}/lineitems/1"
            with pytest.raises(LmsError, match="does not match its API"):
                push(site, small.folder, column="Homework")
            moved = (302, {"Location": f"{other.url}/x"}, b"")
            site.faults.append(lambda e: moved if e.path == "/token" else None)
            with pytest.raises(LmsError, match="has moved"):
                push(site, small.folder)
            assert not other.requests


class TestKeys:
    """The private key: from where it comes, and where it never goes."""

    def test_the_assertion_is_signed_and_counts_once_and_for_a_minute(
        self, site: Lti, small: Class
    ) -> None:
        assert small
        (claims,) = site.assertions
        assert (CLIENT, CLIENT, f"{site.url}/token") == (
            claims["iss"],
            claims["sub"],
            claims["aud"],
        )
        assert 60 == claims["exp"] - claims["iat"]
        (request,) = [each for each in site.requests if each.path == "/token"]
        assert f"{AGS}/score" in request.one("scope")
        assert (
            site.headers[0]["kid"] == find_tool_key("x", {"LTI_KEY": PEM.decode()}, ()).thumbprint
        )

    def file(self, folder: Path, mode: int = 0o600) -> Path:
        path = folder / "key.pem"
        path.write_bytes(PEM)
        path.chmod(mode)
        return path

    def test_a_file_a_variable_or_a_keyring_has_it(self, tmp_path: Path) -> None:
        of_file = {"LTI_KEY_FILE": str(self.file(tmp_path))}

        def lookup(service: str, name: str) -> str | None:
            return {("tvm-grader", "lms.example.org/lti"): PEM.decode()}.get((service, name))

        found = [
            find_tool_key("lms.example.org", of_file, ()),
            find_tool_key("lms.example.org", {"LTI_KEY": PEM.decode()}, ()),
            find_tool_key("lms.example.org", {}, (), lookup),
        ]
        assert 1 == len({each.thumbprint for each in found})
        with pytest.raises(UsageError) as caught:
            find_tool_key("x.example.org", {}, (), lookup)
        assert "keyring set tvm-grader x.example.org/lti < key.pem" in caught.value.hint.english

    def test_a_file_within_the_course_is_refused(self, tmp_path: Path) -> None:
        course, elsewhere = tmp_path / "course", tmp_path / "elsewhere"
        course.mkdir()
        elsewhere.mkdir()
        inside = self.file(course)
        (elsewhere / "link").symlink_to(inside)
        for path in (inside, elsewhere / "link", course / ".." / "course" / "key.pem"):
            with pytest.raises(UsageError, match="in the course or class folder"):
                find_tool_key("x", {"LTI_KEY_FILE": str(path)}, (course,))
        assert find_tool_key("x", {"LTI_KEY_FILE": str(self.file(elsewhere))}, (course,))

    def test_a_file_that_others_may_read_is_refused(self, tmp_path: Path) -> None:
        path = self.file(tmp_path, 0o644)
        with pytest.raises(UsageError, match="Other users of this machine") as caught:
            find_tool_key("x", {"LTI_KEY_FILE": str(path)}, ())
        assert f"chmod 600 {path}" in caught.value.hint.english

    @pytest.mark.parametrize("name", ["nowhere", ""])
    def test_a_file_that_is_none_is_named(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(UsageError, match="Cannot read the private key"):
            find_tool_key("x", {"LTI_KEY_FILE": str(tmp_path / name)}, ())

    def test_another_kind_of_key_is_refused_and_not_shown(self) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec, rsa
        from cryptography.hazmat.primitives.serialization import (
            BestAvailableEncryption,
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        small = rsa.generate_private_key(public_exponent=65537, key_size=1024)
        curve = ec.generate_private_key(ec.SECP256R1())
        form = (Encoding.PEM, PrivateFormat.PKCS8)
        for told in (
            key.private_bytes(*form, BestAvailableEncryption(b"word")),
            small.private_bytes(*form, NoEncryption()),
            curve.private_bytes(*form, NoEncryption()),
            b"my secret words that are none of a private key at all",
            PEM[:200],
        ):
            with pytest.raises(UsageError, match="is not an RSA key") as caught:
                find_tool_key("x", {"LTI_KEY": told.decode()}, ())
            assert told.decode()[30:60] not in f"{caught.value}{caught.value.hint.english}"

    def test_nothing_that_is_written_has_the_key_or_a_token(self, site: Lti, small: Class) -> None:
        ran = push(site, small.folder)
        line = PEM.splitlines()[3]
        for path in small.folder.rglob("*"):
            if path.is_file():
                content = path.read_bytes()
                assert line not in content
                assert b"secret-token" not in content
        assert "secret-token" not in ran.text

    def test_the_public_key_is_printed_for_the_registration(self, lti: Lti, small: Class) -> None:
        import io

        from jwt import PyJWKSet
        from rich.console import Console

        from grader.cli.syncing import print_public_key

        assert lti
        console = Console(file=io.StringIO(), width=200)
        print_public_key(small.folder, console, os.environ)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        (key,) = PyJWKSet.from_dict(json.loads(text)).keys
        assert key.key_id == find_tool_key("x", os.environ, ()).thumbprint
        assert {"kty", "n", "e", "alg", "use", "kid"} == {*json.loads(text)["keys"][0]}

    @pytest.mark.parametrize(
        ("before", "after", "reason"),
        [
            ("/lti/5/memberships", "", None),
            ("http://", "ftp://", "course.toml:3"),
            ('client_id = "client-7"', 'client = "x"', "course.toml:2"),
        ],
    )
    def test_a_registration_with_a_mistake_is_told_with_its_line(
        self, lti: Lti, small: Class, before: str, after: str, reason: str | None
    ) -> None:
        path = small.folder / "course.toml"
        if reason is None:
            path.write_text(lti.settings.replace(f"{lti.url}/lti/5/mem", "https://x.org/mem"))
            with pytest.raises(UsageError, match="two sites"):
                fetch_students(small.folder)
            return
        path.write_text(lti.settings.replace(before, after))
        with pytest.raises(MistakeError, match=reason):
            fetch_students(small.folder)
