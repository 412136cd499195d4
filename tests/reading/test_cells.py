"""Scripts and Markdown are divided into cells, and every cell knows its line of the file."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.reading.cells import MARKDOWN, SCRIPT, divide

SUFFIXES = (*SCRIPT, *MARKDOWN)

PLAIN = '''"""A script."""
import tvm

@T.prim_func

def f(a):
    x = 1

    return x
# the next one

values = [
    1,

    2,
]

text = """
one

two"""
if values:
    pass

else:
    pass

!pip install "it's

last = 1
'''


def cells(text: str, suffix: str = ".py") -> list[tuple[int, str]]:
    return [(piece.line, piece.source.strip()) for piece in divide(text, suffix)]


@pytest.mark.parametrize("quote", ["'", '"', "'''", '"""'])
def test_texts_that_never_end_cost_linear_time(quote: str) -> None:
    """Each quote could begin a text, and each would be looked for to the end of the line."""
    begin = time.process_time()
    divide("x = " + quote + f"\\{quote}" * 30_000, ".py")
    assert time.process_time() - begin < 2


class TestScripts:
    def test_a_paragraph_of_statements_is_a_cell(self) -> None:
        found = cells(PLAIN)
        assert [1, 4, 12, 18, 28, 30] == [line for line, _ in found]
        assert found[1][1].startswith("@T.prim_func") and found[1][1].endswith("# the next one")
        assert "else" in found[3][1]

    def test_nothing_of_a_script_is_lost(self) -> None:
        text = PLAIN.replace("!pip", "# !pip")
        joined = "\n".join(piece.source for piece in divide(text, ".py"))
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(joined))

    @pytest.mark.parametrize("mark", ["# %%", "#%% draft", "# %% [code]", "# In[3]:", "# In[ ]:"])
    def test_marks_divide_where_there_are_some(self, mark: str) -> None:
        assert [(1, "x = 1\n\ny = 2"), (5, "z = 3")] == cells(f"x = 1\n\ny = 2\n{mark}\nz = 3\n")

    def test_text_between_marks_is_no_code(self) -> None:
        script = "# %% [markdown]\n# Words.\nmore words\n# %%\nx = 1\n# %% [raw]\nraw\n"
        assert [(5, "x = 1")] == cells(script)

    def test_lines_end_as_they_may(self) -> None:
        assert [(1, "x = 1"), (3, "y = 2")] == cells("x = 1\r\n\r\ny = 2\r\n")

    def test_code_that_is_no_python_stays_in_one_piece_with_what_follows(self) -> None:
        assert [(1, "x = (1,\n\ny = 2")] == cells("x = (1,\n\ny = 2")


class TestMarkdown:
    @pytest.mark.parametrize(
        "info",
        ["python", "py", "python3", "ipython3", "{.python .input}", "{python}", "{code-cell} x"],
    )
    def test_a_fenced_block_of_python_is_a_cell(self, info: str) -> None:
        text = f"# Title\n\n```{info}\nx = 1\n```\n\n```bash\nls\n```\n"
        assert [(4, "x = 1")] == cells(text, ".md")

    def test_blocks_count_that_say_nothing_where_none_says_what_it_is(self) -> None:
        assert [(2, "x = 1")] == cells("```\nx = 1\n```\n", ".md")
        assert [(2, "x = 1")] == cells("```py\nx = 1\n```\n```\n3.0\n```\n", ".md")

    def test_a_block_in_a_list_loses_its_margin_and_options_are_no_code(self) -> None:
        text = "* one\n\n  ~~~{code-cell}\n  :tags: [a]\n  if x:\n      y = 1\n  ~~~\n"
        assert [(5, "if x:\n    y = 1")] == cells(text, ".md")

    def test_a_fence_is_closed_by_one_as_long(self) -> None:
        assert [(2, 'x = """\n```\n"""')] == cells('````python\nx = """\n```\n"""\n````\n', ".md")
        assert [(2, "x = 1")] == cells("```python\nx = 1", ".md")


@given(st.text(alphabet=" \n\"'`~#%@([])\\abT=", max_size=200), st.sampled_from(SUFFIXES))
def test_cells_of_any_text_stand_where_they_say(text: str, suffix: str) -> None:
    lines = text.split("\n")
    last = 0
    for piece in divide(text, suffix):
        first = piece.source.split("\n")[0].strip()
        assert lines[piece.line - 1].strip() == first
        assert last < piece.line
        last = piece.line


@pytest.mark.parametrize(
    "piece", ['"""', "(", "x\n\n", "'", "```\n", "\\\n", "# %%\nx\n", "#\n\n", "@\n\n"]
)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_long_file_of_one_thing_ends_where_it_ends(piece: str, suffix: str) -> None:
    text = piece * (2**18 // len(piece))
    lines = sum(cell.source.count("\n") + 1 for cell in divide(text, suffix))
    assert lines <= text.count("\n") + 1
