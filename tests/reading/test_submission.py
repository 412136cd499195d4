"""Reading submissions: whatever the bytes, a notebook or a sentence comes out.

Opening what was handed in, also where it was exchanged after somebody had looked.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.errors import SubmissionError, UsageError
from grader.reading.cells import TEXT_LIMIT
from grader.reading.messages import CELL_LIMIT
from grader.reading.submission import (
    RefusedError,
    defined_names,
    first_cell_with,
    open_handed_in,
    parse_content,
    read_submission,
    trusted_folder,
)

CODE = {"cell_type": "code", "source": ["x = 1\n", "y = 2"], "metadata": {}, "outputs": [7]}


def notebook(*cells: object, **fields: object) -> bytes:
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": list(cells)}
    return json.dumps({**document, **fields}).encode()


class TestParseNotebook:
    def test_sources_are_kept_and_damaged_outputs_dropped(self):
        parsed = parse_content(notebook(CODE), ".ipynb")
        assert ("x = 1\ny = 2", []) == (parsed.cells[0].source, parsed.cells[0].outputs)

    def test_format_3_is_brought_to_format_4(self):
        old = {"cell_type": "code", "input": ["x = 1"], "language": "python", "outputs": []}
        content = json.dumps({"nbformat": 3, "worksheets": [{"cells": [old]}]}).encode()
        assert "x = 1" == parse_content(content, ".ipynb").cells[0].source

    def test_invalid_utf8_in_one_cell_does_not_lose_the_notebook(self):
        content = notebook(CODE).replace(b"y = 2", b"y = '\xff'")
        assert "y = '�'" in parse_content(content, ".ipynb").cells[0].source

    def test_a_byte_order_mark_is_no_damage(self):
        assert 1 == len(parse_content(b"\xef\xbb\xbf" + notebook(CODE), ".ipynb").cells)

    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (b"", "empty"),
            (b"hello", "not JSON"),
            (b"[]", "no cells"),
            (b"{}", "no cells"),
            (notebook(), "no code"),
            (notebook({"cell_type": "code", "source": {"a": 1}}), "Cell 1"),
            (notebook(*[CODE] * (CELL_LIMIT + 1)), "more than"),
            (b"[" * 100_000, "not JSON"),
        ],
    )
    def test_what_is_not_a_notebook_is_told_in_a_sentence(self, content, sentence):
        with pytest.raises(SubmissionError, match=sentence) as caught:
            parse_content(content, ".ipynb")
        assert caught.value.hint

    @given(st.binary())
    def test_arbitrary_bytes_raise_nothing_but_a_submission_error(self, content):
        with contextlib.suppress(SubmissionError):
            parse_content(content, ".ipynb")

    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        )
    )
    def test_arbitrary_json_as_a_cell_raises_nothing_but_a_submission_error(self, value):
        with contextlib.suppress(SubmissionError):
            parse_content(notebook(CODE, value, metadata=value), ".ipynb")


TWO = notebook(CODE) + b"\n" + notebook(CODE)
CONFLICT = notebook(CODE)[:-1] + (
    b',\n<<<<<<< HEAD\n"a": 1\n=======\n"a": 2\n>>>>>>> 1f2e3d4 (fix)\n}'
)
POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PAGE = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"


class TestOtherKinds:
    @pytest.mark.parametrize("suffix", [".ipynb", ".py", ".md"])
    @pytest.mark.parametrize(
        ("content", "sentence"),
        [
            (b"PK\x03\x04\x14\0", "an archive (zip)"),
            (b"\x1f\x8b\x08\0", "an archive (gzip)"),
            (b"%PDF-1.7\n", "a PDF"),
            (b"\xff\xd8\xff\xe0", "an image"),
            (POINTER, "a Git LFS pointer"),
            (PAGE, "a web page"),
            (b"\xef\xbb\xbf\n " + PAGE.lower(), "a web page"),
        ],
    )
    def test_each_is_told_as_what_it_is(self, content, sentence, suffix):
        with pytest.raises(SubmissionError, match=re.escape(sentence)):
            parse_content(content, suffix)

    def test_two_notebooks_in_one_file_are_counted(self):
        with pytest.raises(SubmissionError, match="two notebooks"):
            parse_content(TWO, ".ipynb")

    def test_a_conflict_is_told_with_its_line(self):
        line = CONFLICT[: CONFLICT.index(b"<<<")].count(b"\n") + 1
        with pytest.raises(SubmissionError, match=f"Git conflict .*line {line}\\."):
            parse_content(CONFLICT, ".ipynb")

    def test_a_conflict_in_a_script_is_told_too(self):
        with pytest.raises(SubmissionError, match=r"line 2\."):
            parse_content(b"x = 1\n<<<<<<< HEAD\ny = 1\n=======\ny = 2\n>>>>>>> fix\n", ".py")

    def test_a_heading_is_no_conflict(self):
        assert parse_content(b'"""\nHeading\n=======\n"""\nx = 1\n', ".py").cells

    def test_a_notebook_that_is_called_a_script_is_told(self):
        with pytest.raises(SubmissionError, match="name of a script"):
            parse_content(b'{\n "cells": []}', ".py")

    @pytest.mark.parametrize(
        ("encoding", "name"), [("latin-1", "latin-1"), ("gbk", "GBK"), ("cp949", "cp949")]
    )
    def test_a_script_is_read_in_the_encoding_that_it_names(self, encoding, name):
        word = "é" if encoding == "latin-1" else "中"
        text = f"#!/usr/bin/env python\n# -*- coding: {name} -*-\nx = '{word}'\n"
        (cell,) = parse_content(text.encode(encoding), ".py").cells
        assert f"'{word}'" in cell.source

    @pytest.mark.parametrize("name", ["utf-8", "idna", "no-such"])
    def test_any_other_name_means_utf_8(self, name):
        (cell,) = parse_content(f"# coding: {name}\nx = 'é'\n".encode(), ".py").cells
        assert "'é'" in cell.source


class TestReadSubmission:
    def test_a_missing_file_is_a_usage_error(self, tmp_path):
        with pytest.raises(UsageError, match=r"nowhere\.ipynb"):
            read_submission(tmp_path / "nowhere.ipynb")

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ("{", "is cut off"),
            ('{"cells": [{"source": "a"}', "is cut off"),
            ('{"cells": [{"source": "a', "is cut off"),
            ('{"cells": []}, ', "not JSON"),
            ('{"cells": []}\0\0\0\0', "not JSON"),
            ('{"cells": [}\n"', "not JSON"),
            ("[" * 10**5, "not JSON"),
            ("1" * 5000 + ",", "not JSON"),
        ],
    )
    def test_a_damaged_file_comes_back_with_its_problem(self, tmp_path, content, problem):
        path = tmp_path / "bad.ipynb"
        path.write_text(content)
        assert problem in read_submission(path).problem.english

    def test_a_slug_that_is_not_text_is_ignored(self, tmp_path):
        path = tmp_path / "a.ipynb"
        path.write_bytes(notebook(CODE, metadata={"grader": {"assignment": 3}}))
        assert read_submission(path).declared_assignment is None

    def test_a_script_has_cells_and_their_lines(self, tmp_path):
        path = tmp_path / "hw.py"
        path.write_bytes(b"\xef\xbb\xbfimport tvm\n\nx = '\xff'\n")
        submission = read_submission(path)
        assert ("import tvm\n", "x = '\N{REPLACEMENT CHARACTER}'\n") == submission.sources
        assert (1, 3) == submission.starts
        assert (None, None) == (submission.declared_assignment, submission.declared_language)

    def test_a_notebook_has_no_lines(self, tmp_path):
        path = tmp_path / "a.ipynb"
        path.write_bytes(notebook({**CODE, "metadata": {"first_line": 7}}))
        assert () == read_submission(path).starts


class TestTextFiles:
    @pytest.mark.parametrize(
        ("content", "suffix", "sentence"),
        [
            (b"", ".py", "no Python code"),
            (b"# only words\n", ".py", "no Python code"),
            (b"# only words\n", ".md", "no Python code"),
            (b"x\n\n" * (CELL_LIMIT + 1), ".py", "more than"),
            (b"#" * (TEXT_LIMIT + 1), ".py", "larger than 1 MB"),
        ],
    )
    def test_what_cannot_be_run_is_told_in_a_sentence(self, content, suffix, sentence):
        with pytest.raises(SubmissionError, match=sentence):
            parse_content(content, suffix)

    def test_other_files_are_notebooks(self):
        assert "x = 1\ny = 2" == parse_content(notebook(CODE), ".txt").cells[0].source


def test_names_are_found_in_cells_that_do_not_parse():
    assert {"create", "sch"} <= defined_names(("def create(:\n  ((", "sch = 1\nif x == 2:"))


class TestFirstCellWith:
    def test_cells_are_counted_from_one_and_the_first_is_named(self):
        cells = ("x = 1", "from tvm.relax.frontend.torch import from_fx", "frontend")
        assert 2 == first_cell_with("frontend", cells)

    def test_only_the_whole_word_counts(self):
        assert first_cell_with("frontend", ("frontends = my_frontend",)) is None

    def test_a_comment_does_not_count(self):
        assert first_cell_with("frontend", ("x = 1  # no frontend\n# frontend",)) is None

    def test_code_behind_a_comment_counts(self):
        assert 1 == first_cell_with("frontend", ("# mine\nfrontend()",))

    def test_a_cell_that_does_not_parse_counts(self):
        assert 1 == first_cell_with("frontend", ("def (:\n  frontend",))

    @pytest.mark.parametrize("text", ["a" * 300_000, "#" * 300_000, "a.b " * 100_000])
    def test_a_long_line_costs_linear_time(self, text):
        assert first_cell_with("frontend", (text,)) is None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "class/ada").mkdir(parents=True)
    (tmp_path / "class/ada/hw.ipynb").write_bytes(b"mine")
    (tmp_path / "class/ben").symlink_to("ada")
    (tmp_path / "class/ada/link.ipynb").symlink_to("hw.ipynb")
    return tmp_path


def read(path: Path, trusted: Path) -> bytes:
    with open_handed_in(path, trusted) as file:
        return file.read()


def test_a_plain_file_is_read(folder: Path) -> None:
    assert b"mine" == read(folder / "class/ada/hw.ipynb", folder)


@pytest.mark.parametrize("name", ["class/ben/hw.ipynb", "class/ada/link.ipynb"])
def test_no_link_is_followed_below_the_trusted_folder(folder: Path, name: str) -> None:
    with pytest.raises(RefusedError, match="is a link"):
        read(folder / name, folder)


def test_those_above_it_are(folder: Path) -> None:
    assert b"mine" == read(folder / "class/ben/hw.ipynb", folder / "class/ben")


def test_what_is_no_file_is_refused_and_not_waited_for(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    for path, kind in ((folder / "pipe", "a named pipe"), (folder / "class", "a folder")):
        with pytest.raises(RefusedError, match=f"{kind}, not a file"):
            read(path, folder)


def test_what_is_missing_is_an_error_of_the_system(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(folder / "class/cem/hw.ipynb", folder)


@pytest.mark.parametrize(
    ("named", "trusted"),
    [
        ("class/ada/hw.ipynb", "/home/me"),
        ("hw.ipynb", "/home/me"),
        ("../class/ada/hw.ipynb", "/home"),
        ("/home/me/class/ada/hw.ipynb", "/home/me"),
        ("/data/class/ada/hw.ipynb", "/data/class/ada"),
        (".", "/home"),
    ],
)
def test_what_was_typed_says_what_was_handed_in(named: str, trusted: str) -> None:
    assert Path(trusted) == trusted_folder(Path(named), Path("/home/me"))
