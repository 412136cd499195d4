"""The imports that an assignment begins with, offered to whoever lacks them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grader.course import load_course
from grader.environment import bound_names, missing_import, slow_imports
from grader.language import NOTHING

ROOT = Path(__file__).parents[1]
PREAMBLE = "import os.path\nimport numpy as np\nfrom tvm import relax, te as expressions\n"


def test_every_name_has_an_import_of_its_own() -> None:
    assert bound_names(PREAMBLE) == {
        "os": "import os.path",
        "np": "import numpy as np",
        "relax": "from tvm import relax",
        "expressions": "from tvm import te as expressions",
    }


@pytest.mark.parametrize("text", ["print(1)", "import os; x = 1", "import", "try:\n  import os"])
def test_anything_but_imports_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="preamble"):
        bound_names(text)


def test_slow_packages_are_known_from_the_preambles() -> None:
    assert () == slow_imports([PREAMBLE, "", "import torchvisions"])
    assert ("torchvision",) == slow_imports([PREAMBLE, "from torchvision import transforms"])


def test_who_lacks_an_import_is_offered_it() -> None:
    hint = missing_import(PREAMBLE, "relax")
    assert "`from tvm import relax`" in hint.english


def test_others_are_offered_nothing() -> None:
    assert NOTHING == missing_import(PREAMBLE, "mine")


@pytest.mark.parametrize("slug", sorted(load_course(ROOT).assignments))
def test_an_assignment_s_preamble_is_in_its_template(slug: str) -> None:
    preamble = load_course(ROOT).get(slug).assignment.preamble
    notebook = json.loads((ROOT / "templates" / f"{slug}.ipynb").read_bytes())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    lines = {line for cell in cells for line in cell.splitlines()}
    assert preamble
    missing = set(preamble.split("\n")) - lines - {"", "from tvm.script import ir as I"}
    assert not missing
