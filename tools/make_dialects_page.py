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

TVM's Python API has changed often since the first courses taught it. `grader migrate` rewrites
code in one of these dialects into today's, which is that of TVM {CURRENT_TVM}:

| dialect | where it is found |
|---|---|
| 2022 | nightly builds of the first courses: `relax.vm.build`, `DynTensorType`, `Tensor(...)` |
| 2023-24 | `relax.build`, `cls.function`, `out_sinfo`, `tvm.nd.array`, `T.block` |
| 2025 | `tvm.runtime.tensor`, and still `tvm.tir`, `T.block`, `out_sinfo`, `struct_info` |
| {CURRENT} | the dialect that the tables on this page end with |

    grader migrate OLD.ipynb -o NEW.ipynb     # .ipynb, .py (with `# %%` or without), Markdown
    grader migrate OLD.ipynb --diff           # shows the differences, writes nothing

It exits with 0 when nothing is left to do, 1 when something was left as it was, 2 when the file
cannot be read. Every cell is rewritten by itself. Comments, spaces and all that is not understood
stay as they are; magics and `!` commands too. What was migrated once does not change again.
Nothing is executed, and text that is too long or nests too deep is left alone and listed.

A new release of TVM is a matter of new rows in `grader/dialects/table.toml`. This page is made
from that file: `python tools/make_dialects_page.py`.
"""

KINDS = {
    "name": (
        "Names",
        "Wherever a notebook's imports let them be known, under whatever local names. What begins "
        "with such a name changes with it; where several fit, the longest counts.",
    ),
    "method": (
        "Attributes",
        "Of any object, unless the notebook defines a function of that name.",
    ),
    "keyword": ("Names of arguments", "In calls, and in `emit_te` of what is called."),
    "call": ("Arguments of calls", ""),
    "script": ("TVMScript", ""),
    "text": ("Text", ""),
}


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
    lines = [f"| row | was | is | {' | '.join(DIALECTS[:-1])} |", "|---|---|---|---|---|---|"]
    for row in chosen:
        marks = ["x" if dialect in row.dialects else "" for dialect in DIALECTS[:-1]]
        was, becomes = code(row.was), code(row.becomes)
        lines.append(f"| {row.id} | {was} | {becomes} | {' | '.join(marks)} |")
    return "\n".join(lines) + "\n"


def _gone() -> str:
    lines = ["## What is left as it was", "", "| name | why |", "|---|---|"]
    lines += [f"| {code(each.name)} | {each.reason.english} |" for each in names_gone()]
    return "\n".join(lines) + "\n"


def _supplied() -> str:
    lines = [
        "## What the student kernel supplies",
        "",
        "Some code no rewrite of its text reaches: functions that are kept in tables, `getattr`, "
        "`importlib`. For it these names are added in the student kernel",
        "(`grader/inside/kernel/compatibility.py`), if they are not there.",
        "",
        "| name | stands for | why |",
        "|---|---|---|",
    ]
    lines += [f"| {code(each.name)} | {code(each.today)} | {each.why} |" for each in SUPPLIED]
    return "\n".join(lines) + "\n"


def _examples() -> str:
    lines = ["## Examples", ""]
    for row in rows():
        lines += [f"### {row.id}", ""]
        lines += [f"{row.note}\n"] if row.note else []
        lines += ["```python", f"{row.before.rstrip()}", "```", ""]
        lines += ["```python", f"{row.after.rstrip()}", "```", ""]
    return "\n".join(lines).rstrip() + "\n"


def code(text: str) -> str:
    """Return a text as code in a table's cell."""
    return "`" + text.replace("|", "\\|") + "`"


if __name__ == "__main__":
    TARGET.write_text(page(), encoding="utf-8")
