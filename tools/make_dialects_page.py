"""Write docs/dialects.md from the migration table and the names that the student kernel supplies.

python tools/make_dialects_page.py
"""

from __future__ import annotations

from collections.abc import Iterable
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

Rewrite old code for TVM {CURRENT_TVM}:

```
grader migrate old.ipynb -o new.ipynb     # notebooks, scripts, Markdown
grader migrate old.ipynb --diff           # print the differences, write nothing
```

Gradings do the same, cell by cell, for these dialects:

* 2022, nightly builds: `relax.vm.build`, `DynTensorType`, `Tensor(...)`
* 2023-24: `relax.build`, `cls.function`, `out_sinfo`, `tvm.nd.array`, `T.block`
* 2025: `tvm.runtime.tensor` with `tvm.tir`, `T.block`, `out_sinfo`, `struct_info`
* {CURRENT}: new names below

Exit codes: 0 if nothing is left to do, 1 if something was left unchanged, 2 if the file cannot be
read. Nothing is executed. Comments, layout, magics and unknown code stay; too long or too deeply
nested text is listed.
"""

KINDS = {
    "name": (
        "Names",
        "Resolved through imports, under any local name, with all names that begin with them; the "
        "longest match wins.",
    ),
    "method": ("Attributes", "Of any object, unless the notebook defines a function so named."),
    "keyword": ("Keyword arguments", "In calls, including those inside `emit_te`."),
    "call": ("Calls", ""),
    "script": ("TVMScript", ""),
    "text": ("Text", ""),
}


def page() -> str:
    """Return the page as it should be."""
    parts = [INTRODUCTION]
    for kind, (title, note) in KINDS.items():
        chosen = [row for row in rows() if row.kind == kind]
        parts.append(f"## {title}\n\n" + (f"{note}\n\n" if note else "") + _table(chosen))
    parts += [_gone(), _supplied()]
    return "\n".join(parts)


def _table(chosen: Iterable[DialectRow]) -> str:
    lines = ["| row | old | new (dialects) |", "|---|---|---|"]
    for row in chosen:
        note = f". {row.note}" if row.note else ""
        new = f"{code(row.becomes)} ({_span(row.dialects)}){note}"
        lines.append(f"| {row.id} | {code(row.was)} | {new} |")
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

Names in tables, `getattr` and `importlib` escape a rewrite. The student kernel defines these if
they are missing (`grader/inside/kernel/compatibility.py`):

{names}
"""


def code(text: str) -> str:
    """Return a text as code in a table's cell."""
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
