"""The marking page's server, asked within this process: who is let in, and what is written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import httpx
import pytest

from grader.gradebook.book import Gradebook
from grader.gradebook.database import open_database
from grader.marking.pages import BODY_LIMIT, address_of, make_app
from grader.marking.queue import Session
from tests.marking.factory import ASSIGNMENT, grade_of, make_class

PORT, TOKEN = 4321, "a token"
HOST = f"http://127.0.0.1:{PORT}"
MARKED = {"chosen": ["memory"], "comment": "Yes.", "seen": 0}


class Visitor:
    """A browser without a page: it keeps cookies, and says of itself what it is told to."""

    def __init__(self, book: Gradebook, language: str = "en", **options: Any) -> None:
        self.session = Session(book, ASSIGNMENT, "eve", **options)
        self._app = make_app(self.session, language, TOKEN, PORT)
        self._cookies = httpx.Cookies()

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def once() -> httpx.Response:
            transport = httpx.ASGITransport(app=self._app)
            async with httpx.AsyncClient(
                transport=transport, base_url=HOST, cookies=self._cookies
            ) as client:
                answer = await client.request(method, path, **options)
                self._cookies = client.cookies
                return answer

        return asyncio.run(once())

    def get(self, path: str, **headers: str) -> httpx.Response:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, content: Any = MARKED, **headers: str) -> httpx.Response:
        return self.ask("POST", path, json=content, headers={"Origin": HOST, **headers})

    def enter(self) -> Visitor:
        assert 200 == self.get(f"/open?token={TOKEN}").status_code
        return self

    def places(self) -> list[str]:
        answers = self.session.answers()
        return [address_of(self.session, each.place) for each in answers]


@pytest.fixture
def small(tmp_path) -> Iterator[Gradebook]:
    """A gradebook in a file, with a class in it."""
    url = f"sqlite:///{tmp_path / 'gradebook.sqlite'}"
    with closing(Gradebook(open_database(url, make=True))) as book:
        make_class(book)
        yield book


@pytest.fixture
def stranger(small: Gradebook) -> Visitor:
    return Visitor(small)


@pytest.fixture
def eve(small: Gradebook) -> Visitor:
    return Visitor(small).enter()


class TestGuard:
    """Nobody but whoever has the token, under this address."""

    def test_the_token_is_exchanged_for_a_strict_cookie(self, stranger: Visitor) -> None:
        given = stranger.get(f"/open?token={TOKEN}").headers["set-cookie"]
        words = {word.strip().lower() for word in given.split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} == words
        assert TOKEN not in given

    @pytest.mark.parametrize("path", ["/", "/mark.js", "/mark.css", "/open", "/open?token=no"])
    def test_without_it_there_is_nothing(self, stranger: Visitor, path: str) -> None:
        assert 403 == stranger.get(path).status_code

    def test_a_cookie_of_another_run_is_none(self, small: Gradebook, eve: Visitor) -> None:
        other = Visitor(small)
        other._cookies = eve._cookies
        assert 403 == other.get("/").status_code

    @pytest.mark.parametrize(
        "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", f"127.0.0.1:{PORT + 1}", ""]
    )
    def test_under_another_name_it_answers_nothing(self, eve: Visitor, host: str) -> None:
        """A page elsewhere whose name comes to mean this machine would have its own cookies."""
        assert 421 == eve.get("/", Host=host).status_code
        assert 421 == eve.get(f"/open?token={TOKEN}", Host=host).status_code

    def test_localhost_is_this_machine_too(self, eve: Visitor) -> None:
        assert 303 == eve.get("/", Host=f"localhost:{PORT}").status_code

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "", f"{HOST}1"])
    def test_what_another_page_sends_is_not_taken(self, eve: Visitor, origin: str) -> None:
        assert 403 == eve.post(eve.places()[0], Origin=origin).status_code
        assert 10 == grade_of(eve.session.book, "ada").open

    def test_what_does_not_say_where_it_comes_from_is_not_taken(self, eve: Visitor) -> None:
        assert 403 == eve.ask("POST", eve.places()[0], json=MARKED).status_code

    @pytest.mark.parametrize("path", ["/", "/nothing", "/mark.js", "{place}"])
    def test_every_answer_forbids_what_the_page_does_not_need(
        self, eve: Visitor, path: str
    ) -> None:
        headers = eve.get(path.format(place=eve.places()[0])).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "unsafe" not in policy and "http" not in policy
        assert ("no-store", "nosniff", "DENY", "no-referrer") == tuple(
            headers[name]
            for name in (
                "cache-control",
                "x-content-type-options",
                "x-frame-options",
                "referrer-policy",
            )
        )


class TestPages:
    """What is shown."""

    def test_it_begins_with_the_first_answer_that_is_not_marked(self, eve: Visitor) -> None:
        assert eve.places()[0] == eve.get("/").headers["location"]
        eve.post(eve.places()[0])
        assert eve.places()[1] == eve.get("/").headers["location"]

    def test_an_answer_stands_beside_its_rubric_without_the_other_cells(self, eve: Visitor) -> None:
        text = eve.get(eve.places()[0]).text
        assert "<strong>registers</strong>" in text and "Ada Lovelace, ada" in text
        assert 4 == text.count('type="checkbox"') and "+1.5" in text and "-0.5" in text
        assert (
            "create_model" not in text
            and "create_model" in eve.get(eve.places()[0] + "?notebook=whole").text
        )

    def test_a_plot_is_shown_as_it_was_drawn(self, eve: Visitor) -> None:
        text = eve.get(eve.places()[3]).text
        assert 'src="data:image/png;base64,' in text and "times-plot" in text

    def test_nothing_of_a_notebook_is_markup(self, eve: Visitor) -> None:
        text = eve.get(eve.places()[1]).text
        assert 1 == text.count("<script") == text.count("<form id") == text.count("<link")
        assert 2 == text.count("<form")  # the rubric, and the way out of the help
        assert "<img" not in text and 'href="javascript' not in text

    def test_without_names_no_page_tells_whose_it_is(self, small: Gradebook) -> None:
        visitor = Visitor(small, is_anonymous=True).enter()
        for place in visitor.places():
            text = visitor.get(place).text
            assert not any(name in text for name in ("Ada", "Bob", "李雷", "leilei", "hw.ipynb"))
            assert "Submission " in text

    @pytest.mark.parametrize(
        ("language", "words"),
        [("zh", "为什么融合后的循环更快"), ("ko", "합친 반복문이 더 빠른 이유")],
    )
    def test_it_speaks_the_languages_of_the_course(
        self, small: Gradebook, language: str, words: str
    ) -> None:
        visitor = Visitor(small, language).enter()
        text = visitor.get(visitor.places()[0]).text
        assert f'<html lang="{language}">' in text and words in text and "Save" not in text

    def test_when_all_is_marked_it_says_so(self, eve: Visitor) -> None:
        for place in eve.places():
            eve.post(place, {**MARKED, "chosen": []})
        assert "6 of 6 marked" in eve.get("/").text

    def test_without_submissions_it_says_that(self, tmp_path) -> None:
        url = f"sqlite:///{tmp_path / 'empty.sqlite'}"
        with closing(Gradebook(open_database(url, make=True))) as book:
            assert "nothing to mark" in Visitor(book).enter().get("/").text

    @pytest.mark.parametrize(
        "path",
        [
            "/answer/99/why",
            "/answer/1/model",
            "/answer/x/why",
            f"/answer/{'1' * 5000}/why",
            "/answer/١/why",
        ],
    )
    def test_what_is_no_answer_is_not_found(self, eve: Visitor, path: str) -> None:
        assert 404 == eve.get(path).status_code
        assert 404 == eve.post(path).status_code


class TestMarking:
    """What is written."""

    def test_what_is_saved_is_in_the_gradebook_at_once(self, eve: Visitor) -> None:
        answer = eve.post(eve.places()[0])
        assert (200, {"next": eve.places()[1]}) == (answer.status_code, answer.json())
        grade = grade_of(eve.session.book, "ada")
        assert (11, 16, 4) == (grade.points, grade.possible, grade.open)

    def test_the_page_shows_what_was_chosen_and_by_whom(self, eve: Visitor) -> None:
        eve.post(eve.places()[0])
        text = eve.get(eve.places()[0] + "?show=all").text
        assert "3 of 6, by eve, " in text
        assert ["memory"] == [
            name for name in ("memory", "locality", "long") if _is_checked(text, name)
        ]
        assert ">Yes.</textarea>" in text and 'data-seen="1"' in text

    def test_who_comes_second_is_told_and_writes_nothing(self, eve: Visitor) -> None:
        eve.post(eve.places()[0])
        late = eve.post(eve.places()[0], {**MARKED, "chosen": ["locality"]})
        assert 409 == late.status_code
        assert (
            "eve has marked this in the meantime: 3 points. Nothing was saved."
            in late.json()["message"]
        )
        assert 11 == grade_of(eve.session.book, "ada").points

    def test_a_marking_can_be_taken_back(self, eve: Visitor) -> None:
        eve.post(eve.places()[0])
        back = eve.post(eve.places()[0], {**MARKED, "seen": 1, "is_taken_back": True})
        assert {"next": eve.places()[0]} == back.json()
        assert 10 == grade_of(eve.session.book, "ada").open

    @pytest.mark.parametrize(
        "content",
        [
            {},
            [],
            {**MARKED, "points": 6},
            {**MARKED, "seen": -1},
            {**MARKED, "chosen": ["memory", "locality"]},
            {**MARKED, "chosen": ["nothing"]},
            {**MARKED, "chosen": [1]},
            {**MARKED, "comment": "x" * 4001},
        ],
    )
    def test_what_is_no_marking_is_refused(self, eve: Visitor, content: Any) -> None:
        assert 400 == eve.post(eve.places()[0], content).status_code
        assert 10 == grade_of(eve.session.book, "ada").open

    @pytest.mark.parametrize(
        ("kind", "size", "status"),
        [("text/plain", 0, 400), ("application/json", BODY_LIMIT + 1, 413)],
    )
    def test_what_a_form_sends_and_what_is_too_long_is_refused(
        self, eve: Visitor, kind: str, size: int, status: int
    ) -> None:
        body = b'{"chosen":[],"comment":"","seen":0}' + b" " * size
        headers = {"Origin": HOST, "Content-Type": kind}
        answer = eve.ask("POST", eve.places()[0], content=body, headers=headers)
        assert status == answer.status_code

    def test_a_gradebook_that_cannot_be_written_is_told(
        self, eve: Visitor, break_writing: Callable[[], None]
    ) -> None:
        place = eve.places()[0]
        break_writing()
        answer = eve.post(place)
        assert 503 == answer.status_code and "gradebook" in answer.json()["message"]

    @pytest.fixture
    def break_writing(self, tmp_path) -> Callable[[], None]:
        def damage() -> None:
            (tmp_path / "gradebook.sqlite").write_bytes(b"no database" * 1000)

        return damage


def _is_checked(text: str, name: str) -> bool:
    (box,) = [each for each in text.split("<input") if f'name="{name}"' in each]
    return " checked" in box.split(">")[0]
