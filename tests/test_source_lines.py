"""On which line of a notebook's file the text of a cell begins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.execute.problems import PathRedaction
from grader.execute.result import Execution
from grader.grading.account import transcribe
from grader.reading.fields import read_fields
from grader.reading.submission import SubmissionFile, line_in_file, parse_content

ROOT = Path(__file__).parents[1]
SAVED = (*ROOT.glob("templates/**/*.ipynb"), *ROOT.glob("examples/e2e-conv/*.ipynb"))


def notebook(*sources: object, **fields: object) -> dict[str, object]:
    """A notebook of code cells."""
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, **fields}


def source_lines(text: str) -> tuple[int | None, ...]:
    """On which lines the texts of a notebook's cells begin."""
    return tuple(cell.line for cell in read_fields(text.encode()).cells)


def test_every_line_of_a_saved_notebook_is_found_in_the_file(subtests: pytest.Subtests) -> None:
    for path in SAVED:
        with subtests.test(path.stem):
            text = path.read_text(encoding="utf-8")
            rows = text.split("\n")
            cells = json.loads(text)["cells"]
            found = source_lines(text)
            assert len(cells) == len(found)
            for cell, begin in zip(cells, found, strict=True):
                for offset, line in enumerate(cell["source"]):
                    row = rows[begin - 1 + offset].strip().rstrip(",")
                    assert line == json.loads(row.removeprefix('"source": ').strip("[]"))


def test_a_notebook_on_one_line_has_all_cells_on_line_one() -> None:
    assert (1, 1) == source_lines(json.dumps(notebook(["a\n", "b"], ["c"])))


def test_a_source_that_is_one_string_begins_where_the_string_does() -> None:
    text = json.dumps(notebook("a\nb", "c"), indent=1)
    rows = text.split("\n")
    assert ['"a\\nb"', '"c"'] == [
        rows[line - 1].split(": ")[1].rstrip(",") for line in source_lines(text)
    ]


def test_a_cell_without_text_begins_with_its_list_or_itself() -> None:
    text = '{"cells": [\n{"source": [\n\n]},\n{"cell_type": "code"}]}'
    assert (4, 5) == source_lines(text)


def test_windows_line_ends_count_once() -> None:
    text = json.dumps(notebook(["a\n"], ["b"]), indent=1)
    assert source_lines(text) == source_lines(text.replace("\n", "\r\n"))


def test_names_and_values_elsewhere_are_gone_past() -> None:
    """What looks like cells within outputs, metadata and texts is none."""
    fields = {
        "metadata": {"cells": [{"source": ["no"]}], "source": ["no"]},
        "extra": '"cells": [{"source": ["no"]}]',
    }
    plain = json.dumps(notebook(["a"], ["b"]), indent=1)
    text = json.dumps(notebook(["a"], ["b"], **fields), indent=1)
    assert source_lines(plain) == source_lines(text)


def test_format_3_has_cells_in_worksheets_and_its_source_is_called_input() -> None:
    text = '{"worksheets": [\n{"cells": [\n{"input": ["a"]},\n{"source": "b"}]}, 5,\n{"x": 1}]}'
    assert (3, 4) == source_lines(text)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"cells": [{"source":\n"a", "source":\n"b"}]}', (3,)),
        ('{"cells": [{"input":\n"a", "source":\n"b"}]}', (3,)),
        ('{"cells": [{"source":\n"b", "input":\n"a"}]}', (2,)),
        ('{"cells": [{"source": "a"}],\n"cells": [{"source": "b"}]}', (2,)),
        ('{"cells": null,\n"worksheets": [{"cells": [{"source": "b"}]}]}', (2,)),
    ],
)
def test_what_counts_is_what_the_decoder_takes(text: str, lines: tuple[int, ...]) -> None:
    assert lines == source_lines(text)


def test_a_long_list_of_lines_is_gone_past() -> None:
    assert (1, 1) == source_lines(json.dumps(notebook(["x"] * 10**5, "b")))


@pytest.mark.parametrize(
    "odd",
    [
        *("NaN", "-Infinity", '"\\ud83d"', '"\\\\\\udc00 NaN"', '{"\\udead": 1}'),
        *('["\\\\", NaN, "\\""]', '["\\ud83d\\ude00\\ud83d", NaN]', f"[{'1' * 5000}, NaN]"),
    ],
)
def test_what_python_writes_beside_json_moves_no_line(odd: str) -> None:
    text = json.dumps(notebook(["a NaN\n", "\\ud83d"], ["\U0001f600"], x="ODD"), indent=1)
    plain, patient = (read_fields(text.replace('"ODD"', each).encode()) for each in ("0", odd))
    assert plain.cells == patient.cells


def test_half_of_a_surrogate_pair_is_a_question_mark() -> None:
    (cell,) = read_fields(b'{"cells": [{"source": "\\ud83d\\ude00 \\ud83d \\\\ud83d"}]}').cells
    assert "\U0001f600 ? \\ud83d" == cell.source


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda each: (
        st.lists(each, max_size=3)
        | st.dictionaries(st.sampled_from(["cells", "source", "a"]), each, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON, st.sampled_from([None, 0, 1]), st.sampled_from([(",", ":"), (" , ", "\n: ")]))
def test_any_document_is_walked_to_its_end(
    value: object, indent: int | None, separators: tuple[str, str]
) -> None:
    document = {"cells": [{"source": "first", "x": value}, {"source": "last"}], "y": value}
    text = json.dumps(document, indent=indent, separators=separators)
    at = [text.index('"first"'), text.index('"last"')]
    assert tuple(text.count("\n", 0, place) + 1 for place in at) == source_lines(text)


class TestSubmission:
    """What a submission knows of its cells."""

    def test_cells_of_a_notebook_know_their_lines(self) -> None:
        text = json.dumps(notebook(["a\n", "b"], ["c"]), indent=1)
        read = parse_content(text.encode(), ".ipynb")
        assert source_lines(text) == tuple(map(line_in_file, read.cells))

    def test_a_mark_of_byte_order_moves_nothing(self) -> None:
        text = json.dumps(notebook(["a"]), indent=1)
        plain, marked = (
            parse_content(text.encode(code), ".ipynb") for code in ("utf-8", "utf-8-sig")
        )
        assert line_in_file(plain.cells[0]) == line_in_file(marked.cells[0])

    def test_cells_of_a_script_know_their_lines(self) -> None:
        read = parse_content(b"# %%\na = 1\n\n# %%\nb = 2\n", ".py")
        assert [2, 5] == list(map(line_in_file, read.cells))

    def test_a_cell_that_was_made_elsewhere_knows_none(self) -> None:
        read = parse_content(json.dumps(notebook("a")).encode(), ".ipynb")
        del read.cells[0].metadata["line_in_file"]
        assert line_in_file(read.cells[0]) is None

    def test_the_reports_cells_have_them(self) -> None:
        text = json.dumps(notebook(["a\n", "b"], [], ["c"]), indent=1)
        read = parse_content(text.encode(), ".ipynb")
        submission = SubmissionFile("a.ipynb", "", read)
        execution = Execution(read, (), 2, 2, (), ())
        cells = transcribe(submission, execution, PathRedaction(()))
        assert [1, None, 2] == [cell.number for cell in cells]
        assert source_lines(text) == tuple(cell.line for cell in cells)


def test_there_are_notebooks_to_look_at() -> None:
    assert SAVED
