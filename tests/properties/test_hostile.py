"""Whatever is handed in, reading and rendering it is work in proportion to its size."""

from __future__ import annotations

from contextlib import suppress

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings

from grader.dialects.migration import respell_cells
from grader.dialects.respelling import Respelling
from grader.errors import SubmissionError
from grader.messages.frames import decode_payload
from grader.reading.cells import MARKDOWN_SIZE, read_content
from grader.reading.messages import Content, Cost, FromReader, Read
from grader.reading.submission import as_notebook, defined_names
from grader.render.html.text import MOST_READ, Headings, read_markdown
from tests.properties.hostile import CODE, FORMS, MARKDOWN, OLD, in_cells, small_files
from tests.properties.work import work_of

CALLS_TO_READ, CALLS_TO_SPELL = 30, 250
"""Most calls of functions for each character."""

CALLS_AT_LEAST = 100_000
"""Calls that even the shortest file may take."""

CALLS_FOR_MARKDOWN = 5_000_000
"""Most calls for the longest text that is read as Markdown: two seconds of work."""


def read(content: bytes, suffix: str) -> Content | None:
    with suppress(SubmissionError):
        return read_content(content, suffix)
    return None


def code_of(content: Content) -> list[str]:
    return [cell.source for cell in content.cells if cell.kind == "code"]


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(small_files())
def test_any_file_is_cells_that_can_be_sent_or_a_sentence(made: tuple[bytes, str]) -> None:
    content, suffix = made
    found = read(content, suffix)
    if found is None:
        return
    respelling = respell_cells(code_of(found))
    assert isinstance(respelling, Respelling)
    answer = Read("", found, respelling, Cost(0, 0))
    assert answer == decode_payload(msgspec.msgpack.encode(answer), FromReader)  # type: ignore[arg-type]
    assert len(found.cells) == len(as_notebook(found).cells)
    defined_names(tuple(code_of(found)))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(small_files())
def test_work_grows_with_the_size(made: tuple[bytes, str]) -> None:
    content, suffix = made
    most = CALLS_AT_LEAST + CALLS_TO_READ * len(content)
    assert work_of(lambda: read(content, suffix)) <= most
    found = read(content, suffix)
    if found is not None:
        sources = code_of(found)
        most = CALLS_AT_LEAST + CALLS_TO_SPELL * sum(map(len, sources))
        assert work_of(lambda: respell_cells(sources)) <= most


@pytest.mark.parametrize("name", ["uses of imports", "old names", "nested calls", "else if"])
def test_twice_as_much_code_is_twice_the_work(name: str) -> None:
    respell_cells([OLD])
    half, whole = (
        work_of(lambda size=size: respell_cells([CODE[name](size)] * 10)) for size in (400, 800)
    )
    assert whole <= 2.6 * half + CALLS_AT_LEAST


@pytest.mark.parametrize("name", MARKDOWN)
def test_a_text_cell_is_bounded_work(name: str) -> None:
    text = MARKDOWN[name](MOST_READ)[:MOST_READ]
    assert work_of(lambda: read_markdown(text, Headings(2))) <= CALLS_FOR_MARKDOWN


def test_of_text_cells_no_more_is_kept_than_is_shown() -> None:
    size = 3 * MARKDOWN_SIZE
    whole = in_cells(MARKDOWN["links"], size, 30, "markdown").decode()
    found = read(
        whole.replace("[", '[{"cell_type": "code", "source": "x"}, ', 1).encode(), ".ipynb"
    )
    assert found is not None
    assert 31 == len(found.cells)
    assert sum(len(cell.source) for cell in found.cells) < 1.2 * MARKDOWN_SIZE


def test_metadata_are_gone_past_unread() -> None:
    few, many = (FORMS["nests in metadata"](size).encode() for size in (10**4, 10**6))
    assert work_of(lambda: read(many, ".ipynb")) == work_of(lambda: read(few, ".ipynb"))
