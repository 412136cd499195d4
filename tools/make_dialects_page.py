"""Write docs/dialects.md from the migration table and the names that the student kernel supplies.

python tools/make_dialects_page.py
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import unified_diff
from itertools import islice
from pathlib import Path

from grader.dialects.table import (
    CURRENT,
    CURRENT_TVM,
    DIALECTS,
    DialectRow,
    names_gone,
    rows,
)
from grader.inside.kernel.compatibility import SUPPLIED

TARGET = Path(__file__).parents[1] / "docs" / "dialects.md"

INTRODUCTION = f"""# Dialects

```
grader migrate old.ipynb -o new.ipynb     # notebooks, scripts, Markdown
grader migrate old.ipynb --diff           # print the differences, write nothing
```

rewrites TVM code of these dialects for TVM {CURRENT_TVM}. Gradings do the same before a notebook
runs.

| dialect | examples |
|---|---|
| 2022 | nightly builds: `relax.vm.build`, `DynTensorType`, `Tensor(...)` |
| 2023-24 | `relax.build`, `cls.function`, `out_sinfo`, `tvm.nd.array`, `T.block` |
| 2025 | `tvm.runtime.tensor` with `tvm.tir`, `T.block`, `out_sinfo`, `struct_info` |
| {CURRENT} | the new names below |

The exit code is 0 if nothing is left to do, 1 if something was left unchanged, and 2 if the file
cannot be read. Cells are rewritten one by one, without executing them. Comments, layout, magics and
unknown code are kept; too long or too deeply nested text is left unchanged and listed. Migrating
twice changes nothing.

This page is generated from `grader/dialects/table.toml` by `python tools/make_dialects_page.py`.
"""

KINDS = {
    "name": (
        "Names",
        "Resolved through the notebook's imports, under any local name, with all names that begin "
        "with them; the longest match wins.",
    ),
    "method": ("Attributes", "Of any object, unless the notebook defines a function so named."),
    "keyword": ("Keyword arguments", "In calls, including those inside `emit_te`."),
    "call": ("Calls", ""),
    "script": ("TVMScript", ""),
    "text": ("Text", ""),
}

RENAMED = ("name", "method", "keyword")
"""Kinds of rows that need no example: the table has all of the change."""


def page() -> str:
    """Return the page as it should be."""
    parts = [INTRODUCTION]
    for kind, (title, note) in KINDS.items():
        chosen = [row for row in rows() if row.kind == kind]
        parts.append(f"## {title}\n\n" + (f"{note}\n\n" if note else "") + _table(chosen))
    parts.append(_gone())
    parts.append(_supplied())
    parts.append(_examples())
    return "\n".join(parts)


def _table(chosen: Iterable[DialectRow]) -> str:
    lines = ["| row | old | new | dialects |", "|---|---|---|---|"]
    for row in chosen:
        old, new = code(row.was), code(row.becomes)
        lines.append(f"| {row.id} | {old} | {new} | {_span(row.dialects)} |")
    return "\n".join(lines) + "\n"


def _span(dialects: Iterable[str]) -> str:
    """Return the years of consecutive dialects, as "2022-25"; others as a list."""
    places = sorted(DIALECTS.index(dialect) for dialect in dialects)
    if len(places) == 1 or places != list(range(places[0], places[-1] + 1)):
        return ", ".join(DIALECTS[place] for place in places)
    return f"{DIALECTS[places[0]][:4]}-{DIALECTS[places[-1]][-2:]}"


def _gone() -> str:
    lines = ["## Left unchanged", "", "| name | why |", "|---|---|"]
    lines += [f"| {code(each.name)} | {each.reason.english} |" for each in names_gone()]
    return "\n".join(lines) + "\n"


def _supplied() -> str:
    names = ", ".join(code(each.name) for each in SUPPLIED)
    return f"""## Supplied while grading

Functions in tables, `getattr` and `importlib` escape a rewrite. The student kernel therefore
defines these names if they are missing (`grader/inside/kernel/compatibility.py`):

{names}
"""


def _examples() -> str:
    lines = ["## Examples", ""]
    for row in rows():
        if row.kind in RENAMED and not row.note:
            continue
        lines += [f"### {row.id}", ""]
        lines += [f"{row.note}\n"] if row.note else []
        lines += ["```diff", *_difference(row), "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def _difference(row: DialectRow) -> Iterator[str]:
    """Yield all lines of a row's example, marked as removed, added or common."""
    old, new = (text.strip("\n").splitlines() for text in (row.before, row.after))
    whole = len(old) + len(new)
    header = 3
    for line in islice(unified_diff(old, new, n=whole, lineterm=""), header, None):
        yield line.rstrip()


def code(text: str) -> str:
    """Return a text as code in a table's cell."""
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
