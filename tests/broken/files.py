"""What is handed in, as bytes: notebooks of every age and make, and files that are none.

Each function is given the sources of the code cells; a case names one of them as its `file`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

Cell = dict[str, Any]

METADATA = {"grader": {"assignment": "tight", "version": 1}}
LARGE_OUTPUT = 50 * 10**6
NEW_LINE = "\n"


def _code(source: object, **fields: object) -> Cell:
    cell = {"cell_type": "code", "metadata": {}, "source": source, "outputs": []}
    return {**cell, "execution_count": None, **fields}


def _document(cells: object, **fields: object) -> dict[str, object]:
    return {"cells": cells, "metadata": METADATA, "nbformat": 4, "nbformat_minor": 5, **fields}


def _encode(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


# --- notebooks ------------------------------------------------------------------------------------


def notebook(sources: Sequence[str]) -> bytes:
    """A notebook as Jupyter saves it today."""
    cells = [_code(source, id=f"c{number}") for number, source in enumerate(sources)]
    return _encode(_document(cells))


def without_metadata(sources: Sequence[str]) -> bytes:
    """All metadata, of the notebook and of its cells, are gone."""
    cells = [{"cell_type": "code", "source": source} for source in sources]
    return _encode({"cells": cells})


def strange_cells(sources: Sequence[str]) -> bytes:
    """Cells with one id for all, their sources as lists of lines with something else in them.

    Between them are things that are no cells, and cells of unknown types.
    """
    strange: list[object] = [None, 3, "text", [], {}, {"cell_type": "raw", "source": "raw"}]
    strange += [{"cell_type": "heading", "level": 1, "source": "Title"}, {"cell_type": 5}]
    cells = [_code([*source.splitlines(keepends=True), None, 3], id="same") for source in sources]
    return _encode(_document([*strange, *cells, *strange]))


def large(sources: Sequence[str]) -> bytes:
    """The first cell has 50 MB of saved output, others outputs that are none, the last 1 MB."""
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * LARGE_OUTPUT}
    first, *others = sources
    cells = [_code(first, outputs=[stream]), *(_code(each, outputs={"no": 1}) for each in others)]
    comment = f"# {'x' * 98}\n" * 10_000
    return _encode(_document([*cells, _code(f"{comment}print('after it')")]))


def format_3(sources: Sequence[str]) -> bytes:
    """A notebook of format 3: worksheets, and sources that are called `input`."""
    cells = [
        {"cell_type": "code", "input": source, "language": "python", "outputs": []}
        for source in sources
    ]
    sheets = [{"cells": cells[:1]}, {"cells": cells[1:], "metadata": {}}]
    return _encode({"nbformat": 3, "nbformat_minor": 0, "metadata": METADATA, "worksheets": sheets})


def format_4_0(sources: Sequence[str]) -> bytes:
    """A notebook of format 4.0, without ids, that asks for a kernel that nobody has."""
    kernel = {"name": "my-env-2019", "display_name": "Python [conda env:my-env]"}
    metadata = {**METADATA, "kernelspec": kernel}
    cells = [_code(source) for source in sources]
    return _encode(_document(cells, metadata=metadata, nbformat_minor=0))


def format_5(sources: Sequence[str]) -> bytes:
    """A notebook of a format that is not there yet."""
    return _encode(_document([_code(source) for source in sources], nbformat=5, nbformat_minor=99))


def kernel_of_r(sources: Sequence[str]) -> bytes:
    """A notebook that says that it is written in R."""
    kernel = {"name": "ir", "display_name": "R", "language": "R"}
    metadata = {**METADATA, "kernelspec": kernel, "language_info": {"name": "R"}}
    return _encode(_document([*map(_code, sources)], metadata=metadata))


def damaged_metadata(sources: Sequence[str]) -> bytes:
    """Metadata of the wrong types, everywhere, and a format whose number is none."""
    metadata = {"grader": ["assignment"], "kernelspec": 3, "language_info": "R", "widgets": []}
    cells = [_code(source, metadata=[1], id={"no": "id"}) for source in sources]
    document = _document(cells, metadata=metadata, nbformat="four", worksheets=7)
    return _encode({**document, "nbformat_minor": None})


def nested_metadata(sources: Sequence[str]) -> bytes:
    """Metadata are nested as deep as a reader of JSON bears, and deeper than others do."""
    nested = b"[" * 900 + b"]" * 900
    return notebook(sources).replace(b'"grader": {', b'"widgets": ' + nested + b', "grader": {')


def empty_lists_in_metadata(sources: Sequence[str]) -> bytes:
    """Metadata that nobody reads hold twenty million empty lists: 60 MB."""
    lists = b"[" + b"[]," * 20_000_000 + b"0]"
    return notebook(sources).replace(b'"grader": {', b'"widgets": ' + lists + b', "grader": {')


def empty_lists_and_no_number(sources: Sequence[str]) -> bytes:
    """The same, beside a number that JSON does not have and Python writes: all of it is built."""
    return empty_lists_in_metadata(sources).replace(b'"widgets": [', b'"widgets": [NaN, ', 1)


def long_name(sources: Sequence[str]) -> bytes:
    """The assignment's name in the metadata has 60 MB."""
    return notebook(sources).replace(
        b'"assignment": "tight"', b'"assignment": "%b"' % (b"x" * 60_000_000)
    )


def many_line_ends(sources: Sequence[str]) -> bytes:
    """One cell more, in an earlier spelling, and one with as many line ends as a kernel repeats."""
    return notebook(
        [*sources, f"import tvm.tir as tir{NEW_LINE * 60_000}", NEW_LINE * 400_000 + "1"]
    )


def million_parentheses(sources: Sequence[str]) -> bytes:
    """Cells of parentheses that are closed, of some that are not, and one with a million."""
    return notebook([*sources, *["()" * 32_000] * 8, *["(" * 65_000] * 8, "(" * 10**6])


def nested_markdown(sources: Sequence[str]) -> bytes:
    """Text cells whose quotations go on in lines without their mark, forty at the page's limit."""
    text = ("#|-|-" + 'a|b\n-|-\n>>[a]: b\n"' * 500)[:9_999]
    cells = [*map(_code, sources), *[{**_code(text), "cell_type": "markdown"}] * 40]
    return _encode(_document(cells))


def in_utf_16(sources: Sequence[str]) -> bytes:
    """The notebook went through an editor that writes UTF-16."""
    return notebook(sources).decode().encode("utf-16")


def from_windows(sources: Sequence[str]) -> bytes:
    """The file begins with a byte order mark, and lines end as on Windows."""
    return b"\xef\xbb\xbf" + notebook([source.replace("\n", "\r\n") for source in sources])


def not_utf8(sources: Sequence[str]) -> bytes:
    """A comment and a string have bytes that are not UTF-8."""
    return notebook(["# BYTES\nname = 'BYTES'", *sources]).replace(b"BYTES", b"\xff\xfe caf\xe9")


def half_surrogates(sources: Sequence[str]) -> bytes:
    """Strings have halves of surrogate pairs, in sources and in metadata."""
    cells = [_code(source) for source in ("half = 'HALF'", *sources, "# HALF")]
    metadata = {**METADATA, "title": "HALF"}
    return _encode(_document(cells, metadata=metadata)).replace(b"HALF", b"\\ud83d")


def null_characters(sources: Sequence[str]) -> bytes:
    """One cell more has the character of code 0, which no Python source may have."""
    return notebook([*sources, "text = '\0'"])


def odd_json(sources: Sequence[str]) -> bytes:
    """The key `cells` is there twice, and there are numbers that no machine word holds.

    As with every reader of JSON the last key counts.
    """
    odd = b'{"cells": [3], "n": [1e999, NaN, -Infinity, 123456789012345678901234567890], '
    return notebook(sources).replace(b"{", odd, 1)


# --- files without right work ---------------------------------------------------------------------


def empty(sources: Sequence[str]) -> bytes:
    """Nothing but white space."""
    del sources
    return b" \n\n"


def not_json(sources: Sequence[str]) -> bytes:
    """The cells as a Python file, called .ipynb."""
    return "\n\n".join(sources).encode()


def truncated(sources: Sequence[str]) -> bytes:
    """A notebook of which the end is missing, as after a full disk."""
    return notebook(sources)[:-40]


def other_json(sources: Sequence[str]) -> bytes:
    """JSON that is no notebook."""
    return _encode(list(sources))


def cells_are_a_table(sources: Sequence[str]) -> bytes:
    """The cells are not a list."""
    return _encode(_document({"0": _code(sources[0])}))


def no_cells(sources: Sequence[str]) -> bytes:
    """A notebook without cells."""
    del sources
    return _encode(_document([]))


def only_markdown(sources: Sequence[str]) -> bytes:
    """All code was turned into text."""
    return _encode(_document([{**_code(source), "cell_type": "markdown"} for source in sources]))


def deeply_nested(sources: Sequence[str]) -> bytes:
    """JSON that is nested a hundred thousand levels deep."""
    return notebook(sources)[:-1] + b', "deep": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"


def numeric_source(sources: Sequence[str]) -> bytes:
    """The third cell's source is a number."""
    return _encode(_document([*map(_code, sources), _code(3.5)]))


def too_many_cells(sources: Sequence[str]) -> bytes:
    """A notebook of ten thousand cells."""
    return notebook([*sources, *["pass"] * 10_000])


def too_large(sources: Sequence[str]) -> bytes:
    """A file of 70 MB."""
    return notebook([*sources, f"# {'x' * 70 * 10**6}"])


def an_image(sources: Sequence[str]) -> bytes:
    """The beginning of a picture."""
    del sources
    return b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)) * 8


def an_archive(sources: Sequence[str]) -> bytes:
    """The notebook, packed."""
    import gzip

    return gzip.compress(notebook(sources), mtime=0)


# --- what other tools leave in a file -------------------------------------------------------------


def left_out(sources: Sequence[str]) -> bytes:
    """A cell without text, and one that is tagged as not to be run."""
    tagged = _code("undefined_name", metadata={"tags": ["skip-execution"]})
    return _encode(_document([_code(None), _code(sources[0]), tagged, *map(_code, sources[1:])]))
