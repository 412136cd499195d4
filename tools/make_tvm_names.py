"""Write `grader/dialects/names.json`: the modules of today's TVM, and which names are in them.

    python tools/make_tvm_names.py [--check]

`grader migrate` names what a cell uses and TVM does not have. It reads this file, so that it need
not import TVM. A module that is not imported here, or that makes names when they are asked for, has
no list: nothing is said of it. With `--check` nothing is written, and the exit code is 1 where
the file is stale.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import warnings
from pathlib import Path
from types import ModuleType

import tvm

PATH = Path(__file__).resolve().parents[1] / "grader" / "dialects" / "names.json"


_IMPORTED = ("relax", "te", "topi", "tirx", "s_tir", "script", "testing", "contrib", "driver")
"""What notebooks import. Others are known to be there: some start servers where they are imported,
and one of them waits for good."""


def modules() -> dict[str, ModuleType | None]:
    """Return all modules of the package by name, None for those that are not imported here."""
    for name in _IMPORTED:
        importlib.import_module(f"tvm.{name}")
    root = Path(tvm.__path__[0])
    files = [path.relative_to(root.parent).with_suffix("") for path in root.rglob("*.py")]
    names = [".".join(each.parts).removesuffix(".__init__") for each in files]
    return {name: sys.modules.get(name) for name in names if "._" not in name}


def names_of(module: ModuleType | None) -> list[str] | None:
    """Return a module's public names, None where they cannot be told."""
    if module is None or hasattr(module, "__getattr__"):
        return None
    return sorted(name for name in dir(module) if not name.startswith("_"))


def main() -> int:
    """Write or check; return the exit code."""
    parser = argparse.ArgumentParser(description="Write the names of today's TVM.")
    parser.add_argument("--check", action="store_true", help="only say whether the file is stale")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    table = {name: names_of(module) for name, module in sorted(modules().items())}
    text = json.dumps(table, separators=(",", ":")).replace('],"', '],\n"') + "\n"
    if arguments.check:
        return int(not PATH.exists() or PATH.read_text(encoding="utf-8") != text)
    PATH.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
