"""No text of a report becomes anything but text, in whatever field it stands."""

from __future__ import annotations

import functools
import unicodedata

import pytest
from msgspec.structs import replace

from grader.render.html import render_html
from grader.report import Cell, CellOutput
from tests.render.html.filled import Field, Filler, text_fields
from tests.render.html.reading import ATTRIBUTES, TAGS, Page, flat, read
from tests.render.html.samples import DIAGNOSIS, everything

SCRIPTS = (
    "<script>window.harm=1</script>",
    "</script><script>window.harm=1</script>",
    "</style><script>window.harm=1</script>",
    "</title></textarea></svg></desc><script>window.harm=1</script>",
    '"><img src=x onerror=window.harm=1>',
    "'><svg onload=window.harm=1>",
    '" onmouseover="window.harm=1" autofocus onfocus="window.harm=1" x="',
    "javascript:window.harm=1",
    "data:text/html,<script>window.harm=1</script>",
    '--><!--><iframe srcdoc="<script>parent.harm=1</script>"></iframe>',
    "<![CDATA[<script>window.harm=1</script>]]>",
    "&lt;script&gt;window.harm=1&lt;/script&gt;",
    "{{ 7 * 7 }}{% include 'page.html.j2' %}{# #}",
    "<link rel=stylesheet href=//127.0.0.1:9/x.css><base href=//127.0.0.1:9/>",
    "<meta http-equiv=refresh content='0;url=//127.0.0.1:9/'>",
    "<form action=//127.0.0.1:9/><button>x</button></form>",
)
INVISIBLE = "\x00\x07\x1b[31m\x1b]0;title\x07\x9b2J\u202e\u2066\u200b\ufeff\ud800\U000e0041 end"
READ = {("Cell", "source")}
"""Fields that are read as code or Markdown, and so become elements of their own choice."""

COLOURED = {("CellOutput", "text")}
"""Fields whose words may be code: they become colours, and nothing else."""


@functools.cache
def filled(text: str, only: Field | None = None) -> Page:
    """Return the page of a report with a text in every field, or in one alone."""

    def choose(field: Field) -> str:
        return text if only in (None, field) else f"usual {'.'.join(field)}"

    return read(render_html(Filler(choose).report()))


@functools.cache
def usual() -> Page:
    """Return the page with harmless texts, no two fields alike."""
    return filled("", ("no", "field"))


def harmless(page: Page) -> None:
    assert set() == {tag.lstrip("/") for tag in page.tags} - TAGS
    assert set() == {name for _, name, _ in page.attributes} - ATTRIBUTES
    assert [] == page.unbalanced
    for link in page.values("href"):
        assert link.startswith(("#", "https://", "http://")), link
    for source in page.values("src"):
        assert source.startswith("data:image/png;base64,iVBORw0KGgo"), source


def without_colours(page: Page) -> list[str]:
    return [tag for tag in page.tags if tag not in ("span", "/span")]


class TestEveryField:
    @pytest.mark.parametrize("text", SCRIPTS)
    def test_a_script_in_all_fields_at_once_makes_no_element(self, text: str) -> None:
        harmless(filled(text))

    def test_a_script_in_one_field_does_not_change_what_elements_there_are(
        self, subtests: pytest.Subtests
    ) -> None:
        for field in text_fields():
            with subtests.test(".".join(field)):
                text = " ".join(SCRIPTS)
                page = filled(text, field)
                harmless(page)
                if field in COLOURED:
                    assert without_colours(usual()) == without_colours(page)
                elif field not in READ:
                    assert usual().tags == page.tags

    def test_the_text_itself_is_shown(self) -> None:
        page = flat(filled(SCRIPTS[0]).text)
        assert page.count(SCRIPTS[0]) > 30
        assert "{{ 7 * 7 }}" in filled(SCRIPTS[12]).text

    def test_what_cannot_be_seen_is_gone(self) -> None:
        text = render_html(Filler(lambda _: INVISIBLE).report()).decode()
        kinds = {unicodedata.category(each) for each in text if each not in "\n\u200c\u200d"}
        assert set() == kinds & {"Cc", "Cf", "Cs"}
        assert "end" in text

    def test_there_are_many_fields(self) -> None:
        """Otherwise nothing was tried."""
        fields = text_fields()
        wanted = {
            ("Check", "reason"),
            ("Cell", "source"),
            ("CellOutput", "text"),
            ("Node", "shape"),
        }
        assert wanted <= set(fields)
        assert len(fields) > 40


class TestLinks:
    @pytest.mark.parametrize(
        "target",
        [
            "javascript:alert(1)",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc",
            "//x.org",
            "ftp://x",
        ],
    )
    def test_no_link_leads_anywhere_but_to_the_web(self, target: str) -> None:
        part = replace(everything().parts[0], diagnosis=replace(DIAGNOSIS, link=target))
        cells = (Cell("markdown", f"[a]({target}) [b][c] <{target}>\n\n[c]: {target}"),)
        page = read(render_html(replace(everything(), parts=(part,), cells=cells)))
        assert [] == [link for link in page.values("href") if not link.startswith("#")]
        assert "a" in page.text

    def test_a_link_to_the_web_is_one(self) -> None:
        cells = (Cell("markdown", "[a](https://example.org/?a=1&b=2 'title')"),)
        page = read(render_html(replace(everything(), cells=cells, parts=())))
        assert ["https://example.org/?a=1&b=2"] == [
            link for link in page.values("href") if not link.startswith("#")
        ]

    def test_an_image_in_markdown_is_its_description(self) -> None:
        cells = (Cell("markdown", "![a *cat*](https://example.org/cat.png)"),)
        page = read(render_html(replace(everything(), cells=cells, parts=())))
        assert "a cat" in flat(page.text)
        assert not any("example.org" in value for _, _, value in page.attributes)


class TestImages:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "x",
            "PHN2Zy8+",
            "iVBORw0KGgo=",
            'iVBORw0KGgo=" onerror="x',
            "iVBO\nRw0K",
            "R0lGODlhAQ==",
        ],
    )
    def test_what_is_no_png_is_not_shown_as_one(self, text: str) -> None:
        sample = replace(everything().parts[0].sample, image=text)
        part = replace(everything().parts[0], sample=sample)
        cells = (Cell("code", "plot()", 1, None, (CellOutput("image", text),)),)
        page = read(render_html(replace(everything(), parts=(part,), cells=cells)))
        assert [] == page.values("src")
        assert "an image that cannot be shown" in page.text

    def test_a_png_is_shown(self) -> None:
        assert 2 == len(read(render_html(everything())).values("src"))
