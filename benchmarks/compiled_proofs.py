"""Whether functions that are proven to stay inside their buffers do so as machine code.

    python benchmarks/compiled_proofs.py [--count 1000] [--seed 0] [--keep FOLDER] [--json FILE]

Two kinds of programs are drawn, `--count` of each: loops, conditions and blocks of any shape, and
indices that are divided and multiplied from one block's iterator to the next. Each is read as the
referee reads a submission. The proven ones are compiled by TVM and called on arrays within larger
ones, with guards and without. With `--keep` an interrupted run goes on where it was.

Printed as JSON, for each kind: `drawn`, `read` (others are refused), `proven`, `compiled`,
`endless` (not done after 10 s of a processor), `seconds` of a processor, and `wild`: what those did
that they must not. Exit code 1 where there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import tvm
from child import ChildError, EndlessError, in_child
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from journal import Journal, kept_in

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from grader.errors import IRError
from grader.ir.read import read_module
from tests.ir.compiled import UncompiledError, find_wild_access
from tests.ir.programs import LONG_TYPES, divisions, programs

SECONDS = 10
"""What a program may take of a processor: a proven one may have 2**40 rounds."""

PART = 200
"""Programs that are drawn from one seed: an interrupted run loses no more."""


class Figures(msgspec.Struct):
    """What came of programs of one kind."""

    drawn: int = 0
    read: int = 0
    proven: int = 0
    compiled: int = 0
    endless: int = 0
    seconds: float = 0.0
    wild: list[str] = []

    def examine(self, module: tvm.IRModule, items: Sequence[int] = ()) -> None:
        """Read a program, and hold its machine code to the proof, if there is one."""
        self.drawn += 1
        try:
            facts = read_module(tvm.ir.save_json(module).encode()).functions["f"]
        except IRError:
            return
        self.read += 1
        if facts.unproven is not None:
            return
        self.proven += 1
        try:
            is_compiled, wild = in_child(_Called, lambda: _call(module, items), SECONDS)
        except EndlessError:
            self.endless += 1
            return
        except ChildError as error:
            is_compiled, wild = True, str(error)
        self.compiled += is_compiled
        if wild:
            self.wild.append(f"{wild}: {module}")

    def add(self, other: Figures) -> None:
        """Add the figures of other programs."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class _Called(NamedTuple):
    """What a program did that it must not, empty where there is nothing, or nothing compiled."""

    is_compiled: bool
    wild: str


def _call(module: tvm.IRModule, items: Sequence[int]) -> _Called:
    try:
        return _Called(True, find_wild_access(module, items))
    except UncompiledError:
        return _Called(False, "")


class Kind(NamedTuple):
    """A kind of programs: how they are drawn, and how one is examined."""

    strategy: Any
    examine: Callable[[Figures, Any], None]


KINDS = {
    "programs": Kind(programs(LONG_TYPES), lambda found, module: found.examine(module)),
    "divisions": Kind(divisions(), lambda found, one: found.examine(one.module, one.items)),
}


def draw(kind: Kind, count: int, seed: str) -> Figures:
    """Draw and examine so many programs."""
    found, begin = Figures(), _used()
    drawn = settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.generate],
    )
    test: Any = given(kind.strategy)  # a strategy of anything has no types
    seeded(seed)(drawn(test(lambda one: kind.examine(found, one))))()
    found.seconds = _used() - begin
    return found


def _used() -> float:
    """Return the seconds of a processor of this process and of children that have ended."""
    return sum(os.times()[:4])


def run(count: int, seed: int, journal: Journal) -> dict[str, Figures]:
    """Draw and examine so many programs of each kind, and say how far it is."""
    every = {name: Figures() for name in KINDS}
    for begin in range(0, count, PART):
        for name, found in every.items():
            part = partial(draw, KINDS[name], min(PART, count - begin), f"{seed} {name} {begin}")
            found.add(journal.once(Figures, part))
            print(
                f"{name}: {found.drawn} of {count} drawn, {found.proven} proven,"
                f" {len(found.wild)} wild, {found.seconds:.0f} s of a processor",
                file=sys.stderr,
                flush=True,
            )
    return every


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for what was examined so far")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with kept_in(options.keep) as folder:
        journal = Journal(folder / "journal", json.dumps([options.count, options.seed]))
        found = run(options.count, options.seed, journal)
    text = msgspec.json.format(msgspec.json.encode(found)).decode()
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")
    return int(any(each.wild for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
