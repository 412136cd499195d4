"""docs/checks.md, word for word: its three checks are asked of the functions below each of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from tvm import IRModule

import grader.checks
from grader.assignment import ArgumentTable, Computation
from grader.checks import Case, Evidence
from grader.course_code import import_file
from grader.evidence import registry
from grader.evidence.case import Candidate
from grader.evidence.registry import registered_kinds
from grader.ir.facts import Expression
from grader.ir.read import read_module
from grader.messages.kernel import Capture
from tests.ir.modules import save
from tests.pages import steps_of

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
EXAMPLES = [each for each in PAGE.split("\n## ") if "```python" in each]
SCRIPT = "from tvm.script import tirx as T\n\n\n"
TABLE = ArgumentTable((4, 8))


def case_of(folder: Path, text: str) -> Case:
    """Return a case of a function in TVMScript."""
    name = re.search(r"def (\w+)", text)
    assert name is not None
    path = folder / f"{name[1]}.py"
    path.write_text(SCRIPT + text, encoding="utf-8")
    function = getattr(import_file(path, name[1]), name[1])
    module = save(IRModule({name[1]: function}))
    capture = Capture("part", name[1], 1, by_name=True, module=module)
    computation = Computation("row", (TABLE,), (TABLE,))
    return Case(Candidate(capture, read_module(module)), Evidence(), computation)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda text: text.split("\n")[0])
def test_an_example_passes_the_first_function_and_not_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str
) -> None:
    monkeypatch.setattr(registry, "_KINDS", dict(registry._KINDS))
    code, right, wrong = (each.text for each in steps_of(example) if each.language == "python")
    path = tmp_path / "checks.py"
    path.write_text(code, encoding="utf-8")
    import_file(path, "checks_of_the_page")
    (kind,) = [each for each in registered_kinds() if each.place and each.place[0] == path]
    outcomes = [kind.outcome(case_of(tmp_path, each), kind.options()) for each in (right, wrong)]
    assert ["passed", "failed"] == [each.verdict for each in outcomes]
    assert outcomes[1].hint


def test_there_are_three_examples() -> None:
    assert 3 == len(EXAMPLES)


def test_the_page_names_every_kind_of_expression() -> None:
    kinds = get_args(get_type_hints(Expression)["kind"])
    rows = re.findall(r"^\| `(\w+)` \|", PAGE.split("## Expressions")[1], re.MULTILINE)
    assert ["kind", *kinds] == rows


def test_what_the_examples_import_is_public() -> None:
    imported = {
        name.strip()
        for line in re.findall(r"from grader.checks import (.+)", PAGE)
        for name in line.split(",")
    }
    assert imported <= set(grader.checks.__all__)
