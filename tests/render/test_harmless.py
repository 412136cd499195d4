"""Whatever stands in a report, it stays text in every rendering.

Each format has tests of its own; here is what holds for all of them.
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from markdown_it import MarkdownIt
from msgspec.structs import replace

from grader.language import foreign, say
from grader.render.formats import FORMATS
from grader.report import (
    Cell,
    CellOutput,
    CellProblem,
    Report,
    decode_report,
    texts,
)
from tests.render.foreign import HARMFUL
from tests.render.test_audience import ALL, check, part, report

PICTURE = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x00\x00\x00\x00:~\x9bU"
    b"\x00\x00\x00\nIDATx\x9cc`\x00\x00\x00\x02\x00\x01H\xaf\xa4q\x00\x00\x00\x00IEND\xaeB`\x82"
).decode()


MORE = (
    "\"><svg/onload=alert(1)>' onmouseover='alert(1)",
    "</textarea></title></style></pre></details></script><h1>harm</h1>",
    "{{ 7 * 7 }} {% harm %} ${harm} $(harm) %(harm)s {harm} \\u0000 \\x1b",
    "harm\r\nharm\u2028harm\u0085harm\tharm\u2066",
)
"""What has a meaning in templates, in attributes, and at the ends of lines."""

_FIXED = frozenset(
    {"verdict", "visibility", "status", "language", "dialect", "clock", "image", "kind", "due"}
    | {"slug", "id", "sha256", "level", "graded", "code", "mistake", "type"}
)
"""Fields whose values are words of the grader's own or of assignment.toml, or no text."""


def full() -> Report:
    """A report with something in every field."""
    whole = report(
        part(*(check(each, "equivalence") for each in ALL)), part(check("visible", "speed"))
    )
    (first, *others) = whole.parts
    assert first.sample is not None
    hint = say("done", steps="The hint")
    outputs = [CellOutput(kind, kind) for kind in ("stdout", "stderr", "result", "error")]
    return replace(
        whole,
        parts=(replace(first, sample=replace(first.sample, image=PICTURE)), *others),
        problems=(CellProblem(1, "ValueError", "The message", 1, hint),),
        notes=(foreign("A note"),),
        timing=whole.timing and replace(whole.timing, notes=(foreign("A note on the timing"),)),
        cells=(
            Cell("markdown", "Some text", None, 3),
            Cell("code", "print(1)", 1, 9, (*outputs, CellOutput("image", PICTURE))),
        ),
    )


def harmed(harm: str) -> Report:
    """Return that report with harm in the place of every text, and of every key."""

    def walk(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            if key in _OPEN:
                return dict.fromkeys([harm], 1.5 if key == "stages" else harm)
            return {name: walk(each, name) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [walk(each, key) for each in value]
        is_image = key == "text" and value == PICTURE
        return harm if isinstance(value, str) and key not in _FIXED and not is_image else value

    builtin = msgspec.to_builtins(full(), enc_hook=texts.encoder("en"))
    return msgspec.convert(walk(msgspec.to_builtins(builtin)), Report, dec_hook=texts.decode)


_OPEN = frozenset({"packages", "stages", "figures"})
"""Fields whose keys are any text."""


def visible_text(page: str) -> None:
    """Text on a terminal: nothing in it moves the cursor or turns the direction of writing."""
    odd = {each for each in page if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Co", "Cn")}
    assert set() == odd - {"\n", "\u200c", "\u200d"}


def json_document(page: str) -> None:
    assert isinstance(json.loads(page), dict)


def base64_document(page: str) -> None:
    assert isinstance(json.loads(base64.b64decode(page, validate=False)), dict)
    assert re.fullmatch(r"[A-Za-z0-9+/=]+\n", page)


def xml_document(page: str) -> None:
    tree = ElementTree.fromstring(page)
    assert "<!" not in page
    assert {each.tag for each in tree.iter()} <= {
        *("testsuites", "testsuite", "testcase", "properties", "property"),
        *("failure", "error", "skipped", "system-out"),
    }


def workflow_commands(page: str) -> None:
    """Every line is an annotation, whose message and properties are escaped."""
    for line in page.splitlines():
        found = re.fullmatch(r"::(error|warning|notice) ([^:]*)::(.*)", line)
        assert found, line
        assert re.fullmatch(r"(?:[^%]|%(?:25|0D|0A|3A|2C))*", found[2] + found[3]), line
        assert {each.partition("=")[0] for each in found[2].split(",")} <= {"file", "line", "title"}


def markdown_document(page: str) -> None:
    """CommonMark with what GitHub adds to it: nothing is marked up but by the renderer."""
    tokens = list(_flat(MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(page)))
    assert set() == {each.type for each in tokens} & {
        *("html_block", "html_inline", "image", "link_open", "table_open", "s_open", "em_open"),
        *("blockquote_open", "hr", "ordered_list_open", "code_block"),
    }
    visible_text(page.replace("\u200b", ""))


def _flat(tokens: list[Any]) -> Iterator[Any]:
    for token in tokens:
        yield token
        yield from _flat(token.children or [])


class _Markup(HTMLParser):
    """Elements and attributes by their names, and what links and images lead to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.addresses: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names |= {tag, *(f"{tag} {name}" for name, _ in attrs)}
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src")]

    def unknown_decl(self, data: str) -> None:
        self.names.add(f"<![{data}")

    def handle_comment(self, data: str) -> None:
        self.names.add(f"<!--{data}")

    def handle_pi(self, data: str) -> None:
        self.names.add(f"<?{data}")


OF_MARKDOWN = {"a rel", "blockquote", "em", "hr", "q", "s"}
"""What a page may have more where the text of a notebook has markup."""
ADDRESSES = ("https://", "http://", "#", "data:image/png;base64,")


def html_document(page: str) -> None:
    """Harm brings no element, no attribute and no address but those that Markdown may have."""
    markup, harmless = _Markup(page), _Markup(FORMATS["html"](full()).decode())
    assert set() == markup.names - harmless.names - OF_MARKDOWN
    assert [] == [each for each in markup.addresses if not each.startswith(ADDRESSES)]


HARMLESS: dict[str, Callable[[str], None]] = {
    "text": visible_text,
    "json": json_document,
    "html": html_document,
    "junit": xml_document,
    "gradescope": json_document,
    "github": markdown_document,
    "annotations": workflow_commands,
    "classroom": base64_document,
    "classroom50": json_document,
    "prairielearn": json_document,
    "markdown": markdown_document,
}


def test_text_stays_text(subtests: pytest.Subtests) -> None:
    """In every field of a report at once, in every format."""
    for harm in (*HARMFUL, *MORE):
        whole = harmed(harm)
        for name, render in FORMATS.items():
            with subtests.test(name, harm=harm):
                HARMLESS[name](render(whole).decode())


def test_in_json_it_comes_back_as_it_was(subtests: pytest.Subtests) -> None:
    """But for halves of surrogate pairs, which no UTF-8 has."""
    for harm in (*HARMFUL, *MORE):
        with subtests.test(harm=harm):
            back = decode_report(FORMATS["json"](harmed(harm)))
            assert (foreign(harm.encode("utf-8", "replace").decode()),) == back.notes
