"""Whether functions that are proven to stay inside their buffers do so as machine code.

    python benchmarks/compiled_proofs.py [--count 1000] [--seed 0] [--json FILE]

Two kinds of programs are drawn, `--count` of each: loops, conditions and blocks of any shape, and
indices that are divided and multiplied from one block's iterator to the next. Each is read as the
referee reads a submission. The proven ones are compiled by TVM and called on arrays within larger
ones, with guards and without.

Printed as JSON, for each kind: `drawn`, `read` (others are refused), `proven`, `compiled`, and
`wild`: what those did that they must not. Exit code 1 where there is any.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tvm
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from grader.errors import IRError
from grader.ir.read import read_module
from tests.ir.compiled import UncompiledError, find_wild_access
from tests.ir.programs import LONG_TYPES, Divided, divisions, programs


class Figures:
    """Counts what came of the programs of one kind."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter(drawn=0, read=0, proven=0, compiled=0)
        self.wild: list[str] = []

    def examine(self, module: tvm.IRModule, items: Sequence[int] = ()) -> None:
        """Read a program, and hold its machine code to the proof, if there is one."""
        self.counts["drawn"] += 1
        try:
            facts = read_module(tvm.ir.save_json(module).encode()).functions["f"]
        except IRError:
            return
        self.counts["read"] += 1
        if facts.unproven is not None:
            return
        self.counts["proven"] += 1
        try:
            wild = find_wild_access(module, items)
        except UncompiledError:
            return
        self.counts["compiled"] += 1
        if wild:
            self.wild.append(f"{wild}: {module}")

    def result(self) -> dict[str, Any]:
        """Return the figures."""
        return {**self.counts, "wild": self.wild}


def draw(strategy: Any, count: int, seed: int, examine: Callable[[Any], None]) -> None:
    """Have so many programs drawn and examined."""
    drawn = settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.generate],
    )
    test: Any = given(strategy)  # a strategy of anything has no types
    seeded(seed)(drawn(test(examine)))()


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    whole, divided = Figures(), Figures()

    def examine_divided(one: Divided) -> None:
        divided.examine(one.module, one.items)

    draw(programs(LONG_TYPES), options.count, options.seed, lambda module: whole.examine(module))
    draw(divisions(), options.count, options.seed, examine_divided)
    found = {"programs": whole.result(), "divisions": divided.result()}
    text = json.dumps(found, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")
    sys.exit(bool(whole.wild or divided.wild))


if __name__ == "__main__":
    main()
