"""Where students ask: addresses of a course, and what is filled in."""

from __future__ import annotations

import pytest

from grader.render.asking import AskAddress, checked_address


def filled(template: str, part: str = "module", student: str = "ada") -> str:
    return AskAddress(checked_address(template), "e2e-mlp", student).of(part)


def test_a_mail_has_what_it_is_about_in_its_subject() -> None:
    assert "mailto:ta@x.org?subject=e2e-mlp%2C%20module%2C%20ada" == filled("mailto:ta@x.org")
    assert "mailto:ta@x.org?cc=b@x.org&subject=e2e-mlp%2C%20ada" == filled(
        "mailto:ta@x.org?cc=b@x.org", part=""
    )


def test_an_address_on_the_web_has_it_in_its_query() -> None:
    query = "assignment=e2e-mlp&part=module&student=ada"
    assert f"https://x.org/ask?{query}#form" == filled("https://x.org/ask#form")
    assert f"https://x.org/ask?a=1&{query}" == filled("https://x.org/ask?a=1")


def test_braces_say_where_it_goes() -> None:
    assert "https://x.org/f?entry.1=e2e-mlp&entry.2=module" == filled(
        "https://x.org/f?entry.1={assignment}&entry.2={part}"
    )


def test_an_id_is_text_and_no_address() -> None:
    student = 'a&b=c#d"<e>{part}%\n李'
    for template in ("mailto:ta@x.org", "https://x.org/", "https://x.org/{student}"):
        found = filled(template, student=student)
        assert found.isascii() and not set('"<>{}\n #') & set(found)
        assert found.count("=") <= 3


@pytest.mark.parametrize(
    "address",
    [
        *("ta@x.org", "javascript:alert(1)", "data:text/html,x", "mailto:", "mailto:ta", "//x.org"),
        *(
            "https://",
            "https://x.org/a b",
            'https://x.org/"',
            "https://x.org/\n",
            "https://x\u202e",
        ),
        *("https://x.org/{name}", "https://x.org/{", "https://x.org/{}", "https://x.org/}{"),
        "https://x.org/" + "x" * 1000,
    ],
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="`address`"):
        checked_address(address)
