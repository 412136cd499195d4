"""What a report says about the machine.

The imports that an assignment begins with, offered to whoever lacks them.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from grader.environment import (
    PACKAGES,
    bound_names,
    describe_environment,
    missing_import,
    slow_imports,
)
from grader.language import NOTHING
from tests.our_course import our_course

X86 = "processor\t: 0\nmodel name\t: Some  CPU @ 2.60GHz\n\nprocessor\t: 1\nmodel name\t: Other\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\n\nHardware\t: Some board\n"


def unreadable() -> str:
    raise FileNotFoundError


def nothing_installed(name: str) -> str:
    raise metadata.PackageNotFoundError(name)


class TestProcessor:
    """The model's name, wherever it stands."""

    def test_it_is_the_model_of_the_first_processor(self) -> None:
        assert describe_environment(read_processors=lambda: X86).cpu == "Some CPU @ 2.60GHz"

    def test_a_board_without_a_model_name_is_named_by_its_hardware(self) -> None:
        assert describe_environment(read_processors=lambda: ARM).cpu == "Some board"

    def test_without_proc_the_platform_is_asked(self) -> None:
        cpu = describe_environment(read_processors=unreadable).cpu
        assert cpu in {platform.processor(), platform.machine()} - {""}

    def test_a_file_without_any_name_is_not_an_error(self) -> None:
        assert describe_environment(read_processors=lambda: "garbage\n:\nmodel name:\n").cpu


class TestPackages:
    """Versions of what explains a result."""

    def test_packages_that_are_installed_have_their_version(self) -> None:
        packages = describe_environment().packages
        assert list(PACKAGES) == list(packages)
        assert packages["apache-tvm"] == metadata.version("apache-tvm")

    def test_a_package_that_is_missing_is_left_out(self) -> None:
        def only_numpy(name: str) -> str:
            return "9.9" if name == "numpy" else nothing_installed(name)

        assert describe_environment(version_of=only_numpy).packages == {"numpy": "9.9"}
        assert describe_environment(version_of=nothing_installed).packages == {}


def test_python_and_cores_are_those_of_this_process() -> None:
    environment = describe_environment(count_cores=lambda: 3)
    assert (platform.python_version(), 3) == (environment.python, environment.cores)
    assert describe_environment().cores >= 1


def test_it_is_quick_and_imports_none_of_the_packages() -> None:
    script = (
        "import sys, time\n"
        "from grader.environment import describe_environment\n"
        "start = time.process_time()\n"
        "describe_environment()\n"
        "print(time.process_time() - start, *sorted(sys.modules))\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert float(output[0]) < 0.5  # to import PyTorch takes seconds
    assert set(output[1:]).isdisjoint({"tvm", "torch", "torchvision", "numpy", "ipykernel"})


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


@pytest.mark.parametrize("slug", sorted(our_course().assignments))
def test_an_assignment_s_preamble_is_in_its_template(slug: str) -> None:
    preamble = our_course().get(slug).assignment.preamble
    notebook = json.loads((ROOT / "templates" / f"{slug}.ipynb").read_bytes())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    lines = {line for cell in cells for line in cell.splitlines()}
    assert preamble
    missing = set(preamble.split("\n")) - lines - {"", "from tvm.script import ir as I"}
    assert not missing
