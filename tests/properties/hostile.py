"""Files that were written to overwhelm whoever reads them: every construct, of any size.

A construct is a function of a size in characters. The tests draw small ones and combine them,
`benchmarks/hostile_files.py` makes them as large as a file may be.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from hypothesis import strategies as st

Construct = Callable[[int], str]

_BACKSLASH = "\\" * 2

OLD = "import tvm\nsch = tvm.tir.Schedule(mod)\nblock = sch.get_block('C')\n"
"""A cell in an earlier spelling."""


def repeated(unit: str, before: str = "") -> Construct:
    """Return a construct of a unit, over and over."""
    return lambda size: before + (unit * (size // len(unit) + 1))[: max(size - len(before), 0)]


def nested(opening: str, middle: str, closing: str, depth: int = 10**9) -> Construct:
    """Return a construct of brackets of some kind, as deep as size and `depth` allow, repeated."""

    def make(size: int) -> str:
        one = len(opening) + len(closing)
        deep = max(1, min(depth, (size - len(middle)) // one))
        nest = f"{opening * deep}{middle}{closing * deep}\n"
        return nest * max(1, size // len(nest))

    return make


def numbered(form: str, least: int = 0) -> Construct:
    """Return a construct of a form with a number in it, which grows."""

    def pieces(size: int) -> Iterator[str]:
        number = least
        while size > 0:
            piece = form.replace("{}", str(number))
            yield piece
            size -= len(piece)
            number += 1

    return lambda size: "".join(pieces(size))


def ramp(unit: str, end: str) -> Construct:
    """Return a construct of lines that begin with more and more of a unit."""

    def pieces(size: int) -> Iterator[str]:
        number = 0
        while size > 0:
            piece = unit * number + end
            yield piece
            size -= len(piece)
            number += 1

    return lambda size: "".join(pieces(size))


CODE: dict[str, Construct] = {
    "line ends": repeated("\n"),
    "line ends of Windows": repeated("\r\n"),
    "line ends of old": repeated("\r"),
    "vertical tabs": repeated("\x0b"),
    "line separators": repeated("\u2028"),
    "line ends after old names": repeated("\n", OLD),
    "parentheses": repeated("("),
    "empty parentheses": repeated("()"),
    "braces": repeated("{["),
    "closing brackets": repeated(")]}"),
    "nested parentheses": nested("(", OLD.split("\n")[1], ")", 90),
    "nested lists": nested("[", "0", "]", 90),
    "nested calls": nested("tvm.nd.array(", "x", ")", 40),
    "nested lambdas": nested("(lambda: ", "tvm.nd.array", ")", 90),
    "unclosed nests": nested("([{", "", "", 60),
    "comprehensions": nested("[a for a in ", "tvm.nd.array", "]", 60),
    "conditions": repeated("a if b else "),
    "strings": repeated("'a' "),
    "quotes": repeated('"'),
    "texts of lines": repeated("'''"),
    "escapes": repeated("\\N{", '"'),
    "backslashes": repeated("\\"),
    "continued lines": repeated("\\\n"),
    "formatted strings": repeated("f'{"),
    "nested formats": nested("f'{", "tvm.nd.array", "}'", 4),
    "decorators": repeated("@a\n"),
    "decorated": repeated("@tvm.script.ir_module\nclass M:\n    pass\n"),
    "indents": ramp(" ", "if a:\n"),
    "else if": repeated("elif a:\n pass\n", "if a:\n pass\n"),
    "sums": repeated("1+"),
    "signs": repeated("-"),
    "conjunctions": repeated("a and ", "tvm.nd.array and "),
    "targets": repeated("a=", "tvm.nd.array="),
    "attributes": repeated(".b", "tvm.nd.array"),
    "numbers": repeated("1_0.0e1,"),
    "long name": repeated("a"),
    "names": numbered("n{}=0\n"),
    "imports": numbered("import tvm.tir as t{}\n"),
    "uses of imports": numbered("import tvm.tir as t{}\nt{}.Schedule(m)\n"),
    "old names": repeated("tvm.nd.array(x)\n"),
    "old names in a line": repeated("tvm.nd.array(x);"),
    "old names in a list": repeated("tvm.nd.array,", "x = ["),
    "old notebook": repeated(OLD),
    "old functions": repeated("@T.prim_func\ndef f(a: T.handle):\n    T.block('x')\n"),
    "variables": repeated("relax.Var('x', (1,), relax.DynTensorType(1, 'float32'))\n"),
    "escaped comments": repeated("\\#\n"),
    "escaped comments between lines": repeated("\\#a\n" + "\n" * 50),
    "late futures": repeated("from __future__ import annotations\n", "x = 1\n"),
    "magics": repeated("!a\n"),
    "help": repeated("a?\n"),
    "assigned magics": repeated("a = %b\n"),
    "marks of cells": repeated("# %%\nx\n"),
    "marks of markdown": repeated("# %% [markdown]\n"),
    "paragraphs": repeated("x\n\n"),
    "comments": repeated("#\n"),
    "blanks": repeated(" "),
    "blank lines": repeated(" " * 200 + "\n"),
    "not ASCII": repeated("é = '\N{GRINNING FACE}'\n"),
    "null characters": repeated("\0"),
}

MARKDOWN: dict[str, Construct] = {
    "quotations": repeated(">"),
    "quotations that go on": repeated('a|b\n-|-\n>>[a]: b\n"', "#|-|-"),
    "lines below quotations": repeated("b\n", ">" * 50 + "a\n"),
    "ramp of quotations": ramp(">", "\n"),
    "lists": repeated("- "),
    "ramp of lists": ramp("  ", "- a\n"),
    "lists in quotations": repeated("> - " * 10 + "a\n"),
    "fences": repeated("```python\nx\n```\n"),
    "open fences": repeated("```python\n"),
    "growing fences": ramp("`", "```\n"),
    "backticks": ramp("`", " "),
    "brackets": repeated("["),
    "links": repeated("[a]("),
    "images": repeated("!["),
    "references": numbered("[{}]: a\n"),
    "emphasis": repeated("*a_"),
    "strokes": repeated("~~a"),
    "markup": repeated("<a "),
    "entities": repeated("&a"),
    "tables": repeated("a|b\n-|-\n"),
    "wide table": repeated("|a"),
    "headings": repeated("a\n=\n"),
    "line breaks": repeated("a  \n"),
}

FORMS: dict[str, Construct] = {
    "lists in metadata": lambda n: document(metadata=f'{{"a": [{"[]," * (n // 3)}0]}}'),
    "tables in metadata": lambda n: document(metadata=f'{{"a": [{"{}," * (n // 3)}0]}}'),
    "numbers in metadata": lambda n: document(metadata=f'{{"a": [{"0," * (n // 2)}0]}}'),
    "keys of metadata": lambda n: document(metadata="{" + numbered('"k{}":0,')(n) + '"a": 0}'),
    "deep metadata": lambda n: document(metadata=f'{{"a": {"[" * (n // 2)}{"]" * (n // 2)}}}'),
    "nests in metadata": lambda n: document(metadata=f'{{"a": [{"[[[[[]]]]]," * (n // 11)}0]}}'),
    "lists and a number that is none": lambda n: document(
        metadata=f'{{"a": [NaN, {"[]," * (n // 3)}0]}}'
    ),
    "long assignment": lambda n: document(metadata=f'{{"grader": {{"assignment": "{"x" * n}"}}}}'),
    "long language": lambda n: document(metadata=f'{{"grader": {{"language": "{"x" * n}"}}}}'),
    "lists in outputs": lambda n: document(
        cell(extra=f'"outputs": [{"[]," * (n // 3)}0], "metadata": {{}}')
    ),
    "long output": lambda n: document(cell(extra=f'"outputs": ["{"x" * n}"]')),
    "escapes in an output": lambda n: document(
        cell(extra=f'"outputs": ["{_BACKSLASH * (n // 2)}"]')
    ),
    "lists in a cell": lambda n: document(f"[{'[],' * (n // 3)}0]"),
    "source of empty lines": lambda n: document(cell(_lines('""', n))),
    "source of line ends": lambda n: document(cell(_lines('"\\n"', n))),
    "source of lists": lambda n: document(cell(_lines("[]", n))),
    "source of numbers": lambda n: document(cell(_lines("0", n))),
    "sources one after another": lambda n: document(
        "{" + '"source": "a", ' * (n // 15) + '"cell_type": "code"}'
    ),
    "halves of surrogate pairs": lambda n: document(cell('"' + "\\ud83d" * (n // 6) + '"')),
    "escaped characters": lambda n: document(cell('"# ' + "\\u4e2d" * (n // 6) + '"')),
    "white space": lambda n: " " * n + document(),
    "white space between cells": lambda n: document(f"{cell()}, {' ' * n} {cell()}"),
    "nothing but space": lambda n: "\n" * n,
    "open lists": lambda n: '{"cells": ' + "[" * n,
    "many cells": lambda n: document(", ".join([cell()] * (n // len(cell())))),
    "many things that are no cells": lambda n: document("0, " * (n // 3) + cell()),
    "worksheets": lambda n: f'{{"worksheets": [{"{}," * (n // 3)} {{"cells": [{cell()}]}}]}}',
    "cells twice": lambda n: f'{{"cells": [{"0," * (n // 2)}0], "cells": [{cell()}]}}',
    "truncated": lambda n: document(cell(json.dumps("x" * n)))[:-3],
    "code beyond its limit": lambda n: document(cell(json.dumps("x" * n))),
    "text": lambda n: "x" * n,
}
"""Notebooks whose JSON is hostile, whatever their cells are."""


def cell(source: str = '"x = 1"', kind: str = "code", extra: str = '"outputs": []') -> str:
    """Return a cell as JSON. `source` and what is `extra` are JSON already."""
    return f'{{"cell_type": "{kind}", "source": {source}, {extra}}}'


def document(*cells: str, metadata: str = "{}") -> str:
    """Return a notebook as JSON, of cells and metadata that are JSON already."""
    return f'{{"cells": [{", ".join(cells or (cell(),))}], "metadata": {metadata}}}'


def _lines(value: str, size: int) -> str:
    return f"[{(value + ',') * (size // (len(value) + 1))}{value}]"


def in_cells(construct: Construct, size: int, count: int, kind: str = "code") -> bytes:
    """Return a notebook of a construct, which is divided among so many cells."""
    one = cell(json.dumps(construct(max(size // count, 1)), ensure_ascii=False), kind)
    return document(*[one] * count).encode("utf-8", "surrogatepass")


def small_files() -> st.SearchStrategy[tuple[bytes, str]]:
    """Files of some thousand characters: every construct in every place, and several together."""
    sizes = st.integers(1, 3000)
    counts = st.sampled_from([1, 3, 40])
    code, text = st.sampled_from(sorted(CODE)), st.sampled_from(sorted(MARKDOWN))
    mixed = st.builds(
        lambda names, size: "".join(CODE[name](size // len(names)) for name in names),
        st.lists(code, min_size=1, max_size=3),
        sizes,
    )
    forms = st.builds(
        lambda name, size: (FORMS[name](size).encode(), ".ipynb"),
        st.sampled_from(sorted(FORMS)),
        sizes,
    )
    notebooks = st.builds(
        lambda name, size, count: (in_cells(CODE[name], size, count), ".ipynb"),
        code,
        sizes,
        counts,
    )
    both = st.builds(
        lambda source, name, size: (
            document(
                cell(json.dumps(source)), cell(json.dumps(MARKDOWN[name](size)), "markdown")
            ).encode(),
            ".ipynb",
        ),
        mixed,
        text,
        sizes,
    )
    scripts = st.builds(lambda source: (source.encode("utf-8", "replace"), ".py"), mixed)
    texts = st.builds(lambda name, size: (MARKDOWN[name](size).encode(), ".md"), text, sizes)
    wide = forms.map(lambda made: (made[0].decode().encode("utf-16"), made[1]))
    return st.one_of(forms, notebooks, both, scripts, texts, wide)
