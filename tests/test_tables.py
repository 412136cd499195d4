"""Tables with commas: read as written by whom it may be, written so that nothing runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.errors import UsageError
from grader.tables import harmless, read_table, write_table


def table_of(tmp_path: Path, content: bytes) -> list[list[str]]:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    table = read_table(path)
    return [table.header, *table.rows]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_what_separates_the_columns_is_told_by_the_first_line(
    tmp_path: Path, separator: str
) -> None:
    text = f'a{separator}b\n"x{separator}y"{separator}2\n'
    assert [["a", "b"], [f"x{separator}y", "2"]] == table_of(tmp_path, text.encode())


@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;;"])
def test_a_line_above_the_header_may_tell_the_separator(tmp_path: Path, line: str) -> None:
    assert [["a,b", "c"], ["1", "2"]] == table_of(tmp_path, f"{line}\na,b;c\n1;2\n".encode())


def test_lines_are_counted_from_the_top_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("sep=;\na;b\n1;2\n")
    assert [3] == read_table(tmp_path / "table.csv").lines


@pytest.mark.parametrize(
    "text", ['a,b\r\n"x\r\ny","say ""z"""\r\n\r\n1\r\n', "a,b\n1,2,3\n , \n", 'a\n""""', "a\r1\r"]
)
def test_a_raw_table_in_which_nothing_is_replaced_is_the_same(tmp_path: Path, text: str) -> None:
    (tmp_path / "table.csv").write_bytes(text.encode())
    assert text.encode() == read_table(tmp_path / "table.csv").raw.replaced({})


def test_rows_of_a_raw_table_are_those_that_were_read(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(b'a,b\n\n"1"\n,\n2,3\n')
    table = read_table(tmp_path / "table.csv")
    assert b'a,b\n\n"x","y, z"\n,\n2,w\n' == table.raw.replaced(
        {(0, 0): "x", (0, 1): "y, z", (1, 1): "w"}
    )


def test_a_cell_may_have_several_lines(tmp_path: Path) -> None:
    assert [["a", "b"], ["x\r\ny", "2"]] == table_of(tmp_path, b'a,b\r\n"x\r\ny",2\r\n')


def test_rows_are_as_long_as_the_header(tmp_path: Path) -> None:
    assert [["a", "b"], ["1", ""], ["1", "2"]] == table_of(tmp_path, b"a,b\n1\n\n1,2,3\n")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    rows = [["김, 민", 'say "x"'], ["two\nlines", ""]]
    assert [["a", "b"], *rows] == table_of(tmp_path, write_table(["a", "b"], rows))


@pytest.mark.parametrize("text", ["=1+1", "+1+1", "-cmd|x", "@SUM(A1)", " =x", "＝x"])
def test_a_formula_is_made_text(text: str) -> None:
    assert f"'{text}" == harmless(text)


@pytest.mark.parametrize("separator", [";", "; ", "\t"])
def test_so_is_one_behind_what_divides_cells_elsewhere(separator: str) -> None:
    assert f"Ada{separator}'=x" == harmless(f"Ada{separator}=x")


@pytest.mark.parametrize(
    "text",
    [";=1+1", "a\n=1", "a\r\n+1", "\t=x", "a\u2028@x", ';"=1', 'a;""\t"-x', "x;;＝1", "\v=1"],
)
def test_no_cell_is_a_formula_whatever_divides_cells_and_rows(text: str) -> None:
    """A quotation mark after a semicolon begins another cell, and may end there."""
    told = harmless(text)
    cells = re.split(r"[;\t]", "\n".join(told.splitlines()).replace("\n", ";"))
    assert [] == [cell for cell in cells if cell.replace('"', "").lstrip().startswith(FORMULAS)]
    assert text == told.replace("'", "")


FORMULAS = ("=", "+", "-", "@", "＝")


@pytest.mark.parametrize("text", ["", "Ada", "a=b", "-5", "+3.5", "1-2", "a; b"])
def test_all_else_stays(text: str) -> None:
    assert text == harmless(text)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="16 MB"):
        table_of(tmp_path, b"a\n" + b"x" * (17 * 2**20))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Cannot read"):
        read_table(tmp_path / "gone.csv")
