"""Whether guards see whatever a function does outside of its buffers.

    python benchmarks/guarded_programs.py [--count 1000] [--seed 0] [--keep FOLDER] [--json FILE]

Two kinds of programs are drawn, `--count` of each: loops, conditions and blocks of any shape, and
indices that are divided and multiplied from one block's iterator to the next. Each is read as the
referee reads a submission. Those that it would have timed are compiled by TVM and called on arrays
within larger ones, with guards and, where these see nothing, without. With `--keep` an interrupted
run goes on where it was.

Printed as JSON, for each kind: `drawn`, `read` (others are refused), `compiled`, `seen` (those that
a guard ended), `endless` (not done after 10 s of a processor), `seconds` of a processor, and
`missed`: what was done without guards, and they did not see. Exit code 1 where there is any.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
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
from grader.evidence.problems import FAULTS
from grader.ir.read import read_module
from tests.inside.common.guarded import Held, UncompiledError, hold
from tests.ir.programs import LONG_TYPES, divisions, programs

SECONDS = 10
"""What a program may take of a processor: one may have 2**40 rounds."""

PART = 200
"""Programs that are drawn from one seed: an interrupted run loses no more."""


class Figures(msgspec.Struct):
    """What came of programs of one kind."""

    drawn: int = 0
    read: int = 0
    compiled: int = 0
    seen: int = 0
    endless: int = 0
    seconds: float = 0.0
    missed: list[str] = []

    def examine(self, module: tvm.IRModule) -> None:
        """Read a program, and hold guards to its machine code."""
        self.drawn += 1
        try:
            facts = read_module(tvm.ir.save_json(module).encode()).functions["f"]
        except IRError:
            return
        # What the referee knows to leave its buffer a guard must see all the same.
        if facts.unguarded is not None and facts.unguarded.code not in FAULTS:
            return
        self.read += 1
        try:
            is_compiled, held = in_child(_Called, lambda: _call(module), SECONDS)
        except EndlessError:
            self.endless += 1
            return
        except ChildError as error:
            is_compiled, held = True, Held(missed=str(error))
        self.compiled += is_compiled
        self.seen += bool(held.seen)
        if held.missed:
            self.missed.append(f"{held.missed}: {module}")

    def add(self, other: Figures) -> None:
        """Add the figures of other programs."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


class _Called(NamedTuple):
    """What came of a program that was compiled, if it was."""

    is_compiled: bool
    held: Held


def _call(module: tvm.IRModule) -> _Called:
    try:
        return _Called(True, hold(module))
    except UncompiledError:
        return _Called(False, Held())


KINDS = {"programs": programs(LONG_TYPES), "divisions": divisions()}
"""How programs of each kind are drawn."""


def draw(kind: str, count: int, seed: str) -> Figures:
    """Draw and examine so many programs."""
    found, begin = Figures(), _used()
    drawn = settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=[*HealthCheck],
        phases=[Phase.generate],
    )
    test: Any = given(KINDS[kind])  # a strategy of anything has no types
    seeded(seed)(drawn(test(lambda module: found.examine(module))))()
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
            part = partial(draw, name, min(PART, count - begin), f"{seed} {name} {begin}")
            found.add(journal.once(Figures, part))
            print(
                f"{name}: {found.drawn} of {count} drawn, {found.seen} seen,"
                f" {len(found.missed)} missed, {found.seconds:.0f} s of a processor",
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
    return int(any(each.missed for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
