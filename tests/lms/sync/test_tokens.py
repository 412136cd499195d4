"""Tokens: from where they come, and where they never go."""

from __future__ import annotations

import pytest

from grader.errors import UsageError
from grader.lms.sync.session import site_of
from grader.lms.sync.source import address
from grader.lms.sync.tokens import Token, find_token

HOST = "canvas.example.org"


def test_the_environment_comes_before_the_keyring() -> None:
    def lookup(service: str, name: str) -> str | None:
        return {("tvm-grader", HOST): "from-keyring"}.get((service, name))

    assert "from-env" == find_token("canvas", HOST, {"CANVAS_TOKEN": "from-env"}, lookup).reveal()
    assert "from-keyring" == find_token("canvas", HOST, {}, lookup).reveal()


def test_without_one_both_ways_are_named() -> None:
    with pytest.raises(UsageError) as caught:
        find_token("moodle", "m.example.org", {}, lambda *_: None)
    assert "MOODLE_TOKEN" in caught.value.hint.english
    assert "keyring set tvm-grader m.example.org" in caught.value.hint.english


@pytest.mark.parametrize("value", ["abc\r\nX-Evil: 1", "has space", "短短短短短短短短", "qqq"])
def test_a_malformed_one_is_refused_and_not_shown(value: str) -> None:
    with pytest.raises(UsageError) as caught:
        find_token("canvas", HOST, {"CANVAS_TOKEN": value})
    assert value not in f"{caught.value}{caught.value.hint.english}"


def test_no_formatting_shows_it() -> None:
    token = Token("very-secret")
    assert "secret" not in f"{token} {token!r} {[token]}"


class TestAddresses:
    """What is a site, and what the page of an assignment."""

    @pytest.mark.parametrize(
        ("url", "host"),
        [
            ("http://canvas.example.org/courses/1/assignments/2", "not be encrypted"),
            ("http://127.0.0.1.evil.org/courses/1/assignments/2", "not be encrypted"),
            ("ftp://canvas.example.org/courses/1/assignments/2", "not an address"),
            ("https://user:pw@canvas.example.org/courses/1/assignments/2", "not an address"),
            ("https://canvas.example.org/courses/1", "not the page"),
            ("https://canvas.example.org/courses/x/assignments/2", "not the page"),
            ("", "not an address"),
        ],
    )
    def test_others_are_refused(self, url: str, host: str) -> None:
        with pytest.raises(UsageError, match=host):
            address("canvas", url)

    def test_what_says_nothing_is_left_out(self) -> None:
        page = "https://c.example.org/courses/1/assignments/2"
        assert page == address("canvas", f"{page}/submissions?student=3#x")
        module = "https://m.example.org/school/mod/assign/view.php?id=4"
        assert module == address("moodle", f"{module}&action=grading")

    def test_this_machine_may_be_asked_without_encryption(self) -> None:
        assert "http://127.0.0.1:80" == site_of("http://127.0.0.1:80/courses")
        assert "http://[::1]:3000" == site_of("http://[::1]:3000/")
        assert "http://localhost" == site_of("http://localhost/x")
