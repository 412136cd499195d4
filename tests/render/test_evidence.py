"""What a kind of evidence shows of a part, in every format."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace

from grader.language import NOTHING, foreign
from grader.render.evidence import share_of
from grader.report import Bar, Bars, Report, decode_report, encode_report
from tests import sample_reports
from tests.render.pages import flat, page
from tests.render.test_audience import EARLY, check, part, report
from tests.render.test_audience import shown as seen_by


def shown() -> Report:
    return report(part(check("visible", "equivalence")))


def test_a_terminal_has_its_title_sentences_bars_and_table() -> None:
    text = flat(page(shown()))
    assert "Memory at the peak `main` holds two buffers at once." in text
    assert "3,000 bytes" in text
    assert "At most 2,000 bytes" in text
    assert "conv = T.alloc_buffer((1, 300))" in text
    (row,) = (line for line in page(shown()).splitlines() if "`pad`" in line)
    assert ["`pad`", "1,800"] == row.split()


def test_the_longest_bar_is_full_and_others_are_as_long_beside_it() -> None:
    rows = page(shown(), width=100).splitlines()
    (own,) = (row for row in rows if "3,000 bytes" in row)
    (reference,) = (row for row in rows if "1,000 bytes" in row)
    assert (30, 10) == (own.count("━"), reference.count("━"))


@pytest.mark.parametrize(("value", "share"), [(-1.0, 0.0), (0.0, 0.0), (2.0, 0.5), (4.0, 1.0)])
def test_a_bar_takes_its_share_of_the_longest_or_of_the_limit(value: float, share: float) -> None:
    assert share == share_of(value, Bars((Bar(NOTHING, value, NOTHING),), limit=4.0))


def test_bars_of_nothing_are_empty() -> None:
    assert 0.0 == share_of(0.0, Bars((Bar(NOTHING, 0.0, NOTHING),)))


def test_markdown_has_items_and_a_block_of_code() -> None:
    text = shown().render("markdown")
    assert "### Memory at the peak\n\n`main` holds two buffers at once." in text
    assert "- yours: 3,000 bytes\n- reference: 1,000 bytes\n- At most 2,000 bytes" in text
    assert "- Buffer: `pad`; Bytes: 1,800" in text
    assert "```text\npad = T.alloc_buffer((1, 450))\n" in text


def test_a_page_has_bars_and_code() -> None:
    text = shown().render("html")
    assert "<h4>Memory at the peak</h4>" in text
    assert "<code>main</code> holds two buffers at once." in text
    assert 'width="33.33"' in text
    assert "conv = T.alloc_buffer((1, 300))" in text


def test_json_has_the_figures_and_is_read_back() -> None:
    document = encode_report(shown())
    (section,) = json.loads(document)["parts"][0]["sections"]
    assert {"bytes": 3000} == section["figures"]
    assert ["paragraph", "bars", "grid", "listing"] == [each["type"] for each in section["blocks"]]
    assert document == encode_report(decode_report(document))


@pytest.mark.parametrize("visibility", ["hidden", "score_only", "after_due"])
def test_students_do_not_see_it_beside_a_check_that_they_see_in_part(visibility) -> None:
    kept = check("visible")
    whole = report(part(kept, check(visibility, "equivalence")))
    (seen,) = seen_by(whole, "student", EARLY).parts
    assert () == seen.sections
    assert (sample_reports.SECTION,) == whole.parts[0].sections


def test_students_see_it_beside_the_check_that_it_explains() -> None:
    whole = report(part(check("hidden"), check("visible", "equivalence")))
    (seen,) = seen_by(whole, "student", EARLY).parts
    assert (sample_reports.SECTION,) == seen.sections


def test_a_row_of_more_cells_than_the_table_has_columns_is_cut() -> None:
    grid = sample_reports.SECTION.blocks[2]
    wide = replace(grid, rows=((foreign("a"), foreign("b"), foreign("lost")),))
    section = replace(sample_reports.SECTION, blocks=(wide,))
    (first,) = shown().parts
    text = page(replace(shown(), parts=(replace(first, sections=(section,)),)))
    assert "lost" not in text
