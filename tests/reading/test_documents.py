"""Files of three kinds: what is code in them changes, all else stays."""

from __future__ import annotations

import json

import pytest

from grader.errors import SubmissionError
from grader.reading.documents import Document, migrate_document

OLD, NEW = "x = tvm.nd.array(y)", "x = tvm.runtime.tensor(y)"


def migrate(text: str, suffix: str) -> tuple[str, tuple[int, ...] | None]:
    """Return a text file after migration, and where its cells begin."""
    document: Document = migrate_document(text.encode(), suffix)
    return document.content.decode(), document.starts


class TestScript:
    def test_without_marks_a_paragraph_is_a_cell(self) -> None:
        assert (f"# a\n{NEW}\n", (1,)) == migrate(f"# a\n{OLD}\n", ".py")
        assert (f"if:\n\n{NEW}\n", (1, 3)) == migrate(f"if:\n\n{OLD}\n", ".py")

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_lines_end_as_they_did(self, end: str) -> None:
        text = end.join(["# a", "import os  ", "{}", "", "y = 1\n"])
        assert text.format(NEW) == migrate(text.format(OLD), ".py")[0]

    def test_marks_divide_it_and_what_is_not_code_stays(self) -> None:
        text = "# ---\n# %% [markdown]\n# {0}\n# %%\n{0}\n# %% [raw]\n{0}\n# %% name\n{1}"
        expected = text.format(OLD, NEW).replace(OLD, NEW, 2).replace(NEW, OLD, 1)
        assert (expected, (5, 9)) == migrate(text.format(OLD, OLD), ".py")

    def test_a_mark_of_byte_order_stays(self) -> None:
        assert f"\ufeff{NEW}" == migrate(f"\ufeff{OLD}", ".py")[0]


class TestMarkdown:
    @pytest.mark.parametrize(
        "info", ["python", "py", "python3", "ipython3", "{.python .input n=1}", " python"]
    )
    def test_blocks_of_python_change(self, info: str) -> None:
        expected = f"{OLD}\n```{info}\n{NEW}\n```\n{OLD}\n"
        assert (expected, (3,)) == migrate(f"{OLD}\n```{info}\n{OLD}\n```\n{OLD}\n", ".md")

    @pytest.mark.parametrize("info", ["bash", "cpython-log", "text"])
    def test_others_stay(self, info: str) -> None:
        text = f"```{info}\n{OLD}\n```\n"
        assert (text, ()) == migrate(text, ".md")

    def test_blocks_without_a_language_are_python_where_no_other_is(self) -> None:
        text = "```\n{}\n```\n"
        assert (text.format(NEW), (2,)) == migrate(text.format(OLD), ".md")
        other = f"```\n{OLD}\n```\n```python\n{{}}\n```\n"
        assert other.format(NEW) == migrate(other.format(OLD), ".md")[0]

    def test_a_longer_fence_encloses_a_shorter_one(self) -> None:
        text = f"````text\n```python\n{OLD}\n```\n````\n~~~python\n{{}}\n~~~"
        assert text.format(NEW) == migrate(text.format(OLD), ".md")[0]

    def test_an_indented_block_keeps_its_indent(self) -> None:
        text = "* item\n\n  ```python\n  if y:\n\n      {}\n  ```\n"
        assert text.format(NEW) == migrate(text.format(OLD), ".md")[0]

    def test_a_block_with_a_line_outside_of_its_indent_stays(self) -> None:
        text = f"  ```python\n  {OLD}\n{OLD}\n  ```\n"
        assert (text, ()) == migrate(text, ".md")

    def test_a_block_without_an_end_goes_to_the_end(self) -> None:
        assert f"```python\n{NEW}" == migrate(f"```python\n{OLD}", ".md")[0]

    def test_what_moves_in_a_block_moves_no_other(self) -> None:
        text = "```python\nx = 1\nfrom __future__ import annotations\n```\n"
        expected = "```python\nfrom __future__ import annotations\nx = 1\n```\n"
        assert expected == migrate(text, ".md")[0]


class TestNotebook:
    def test_blank_cells_are_not_counted(self) -> None:
        """Reports do not count them: code cell 1 is the same one in both."""
        cells = [{"cell_type": "code", "source": source} for source in (" ", OLD)]
        document = migrate_document(json.dumps({"cells": cells}).encode(), ".ipynb")
        assert (OLD,) == document.before

    @staticmethod
    def notebook(source: object) -> dict[str, object]:
        output = {"output_type": "stream", "name": "stdout", "text": [OLD]}
        return {
            "cells": [
                {"cell_type": "markdown", "id": "a", "metadata": {}, "source": OLD},
                {
                    "cell_type": "code",
                    "execution_count": 3,
                    "id": "b",
                    "metadata": {"tags": ["한국어"]},
                    "outputs": [output],
                    "source": source,
                },
            ],
            "metadata": {"kernelspec": {"name": "python3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        }

    @pytest.mark.parametrize(
        ("old", "new"),
        [(f"# a\n{OLD}", f"# a\n{NEW}"), (["# a\n", OLD], ["# a\n", NEW])],
        ids=["text", "lines"],
    )
    def test_only_sources_change(self, old: object, new: object) -> None:
        content = json.dumps(self.notebook(old)).encode()
        document = migrate_document(content, ".ipynb")
        assert self.notebook(new) == json.loads(document.content)
        assert "한국어" in document.content.decode()

    def test_without_a_change_it_stays_byte_for_byte(self) -> None:
        content = json.dumps(self.notebook(NEW), indent=7).encode()
        document = migrate_document(content, ".ipynb")
        assert (content, False) == (document.content, document.changed)

    def test_format_3_is_migrated_too(self) -> None:
        cells = [{"cell_type": "code", "input": [OLD]}]
        content = json.dumps({"worksheets": [{"cells": cells}], "nbformat": 3}).encode()
        migrated = json.loads(migrate_document(content, ".ipynb").content)
        assert [NEW] == migrated["worksheets"][0]["cells"][0]["input"]

    def test_a_cell_whose_source_is_no_text_stays(self) -> None:
        content = json.dumps(self.notebook([3])).encode()
        assert content == migrate_document(content, ".ipynb").content


@pytest.mark.parametrize(
    ("content", "suffix", "message"),
    [
        (b"{", ".ipynb", "not JSON"),
        (b"[" * 100_000, ".ipynb", "not JSON"),
        (b"[]", ".ipynb", "no cells"),
        (b"{}", ".ipynb", "no cells"),
        (b"\xff", ".md", "UTF-8"),
        (b"", ".docx", "not supported"),
        (b"x" * (2**20 + 1), ".py", "larger than 1 MB"),
    ],
)
def test_what_cannot_be_read_is_an_error(content: bytes, suffix: str, message: str) -> None:
    with pytest.raises(SubmissionError, match=message):
        migrate_document(content, suffix)
