"""Text cells, read into elements of few kinds."""

from __future__ import annotations

import pytest

from grader.render.html.text import MOST_READ, Element, Headings, read_markdown


def text(value: str) -> Element:
    return Element("text", value)


def paragraph(*children: Element) -> Element:
    return Element("p", children=children)


@pytest.mark.parametrize(
    ("source", "elements"),
    [
        ("a *b*", [paragraph(text("a "), Element("em", children=(text("b"),)))]),
        ("`a<b>`", [paragraph(Element("code", "a<b>"))]),
        ("```python\nx = 1\n```", [Element("pre", "x = 1")]),
        ("    x = 1", [Element("pre", "x = 1")]),
        ("a\nb", [paragraph(text("a"), text(" "), text("b"))]),
        ("---", [Element("hr")]),
        ("<b>a</b>", [paragraph(text("<b>a</b>"))]),
        (
            "[a](https://x.org)",
            [paragraph(Element("a", href="https://x.org", children=(text("a"),)))],
        ),
        ("[a](#b)", [paragraph(text("a"))]),
        ("![a *b*](https://x.org)", [paragraph(text("a "), Element("em", children=(text("b"),)))]),
        ("", []),
    ],
)
def test_elements_are(source: str, elements: list[Element]) -> None:
    assert elements == list(read_markdown(source, Headings(2)))


def test_html_is_text() -> None:
    (element,) = read_markdown("<div onclick='x'>\n<script>alert(1)</script>\n</div>", Headings(2))
    assert "p" == element.kind
    assert {"text"} == {child.kind for child in element.children}


def test_a_list_in_a_list() -> None:
    (outer,) = read_markdown("- a\n  1. b\n", Headings(2))
    (item,) = outer.children
    assert ["p", "ol"] == [child.kind for child in item.children]


def test_a_table_has_a_head_and_a_body() -> None:
    (table,) = read_markdown("| a | b |\n|---|---|\n| 1 | 2 |", Headings(2))
    assert ["thead", "tbody"] == [child.kind for child in table.children]


def test_what_is_too_long_is_shown_as_it_is() -> None:
    source = "*a* " * MOST_READ
    assert (Element("pre", source),) == read_markdown(source, Headings(2))


def test_deep_nesting_ends_somewhere() -> None:
    read_markdown("> " * 2000 + "a", Headings(2))
    read_markdown("".join("  " * depth + "- a\n" for depth in range(100)), Headings(2))


class TestHeadings:
    @pytest.mark.parametrize(
        ("own", "levels"),
        [
            ([1, 2, 2, 1], [3, 4, 4, 3]),
            ([3, 1, 6], [3, 3, 4]),
            ([1, 6, 2, 6], [3, 4, 4, 5]),
            ([1, 2, 3, 4, 5, 6], [3, 4, 5, 6, 6, 6]),
            ([2, 2, 3], [3, 3, 4]),
        ],
    )
    def test_none_is_deeper_than_the_one_before_by_more_than_one(
        self, own: list[int], levels: list[int]
    ) -> None:
        headings = Headings(2)
        assert levels == [headings.level(each) for each in own]
