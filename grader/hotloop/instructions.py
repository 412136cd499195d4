"""An instruction as both architectures' readers give it, and the text that they are read from."""

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

MOST_CHARACTERS = 4 * 2**20
"""Longest text that is read. The references have 0.1 MB, a convolution of which everything is
unrolled 0.6 MB."""

LONGEST_LINE = 400
"""Longest line that can be an instruction; longer ones are strings."""


class Instruction(NamedTuple):
    """One instruction: its mnemonic and its operands, in the order of the text."""

    name: str
    operands: tuple[str, ...]


class Branch(NamedTuple):
    """Where an instruction goes on: at a label (none: out of the function), or else behind it."""

    target: str
    falls_through: bool


class Effect(NamedTuple):
    """What one instruction does, as far as the analysis counts it.

    `fused`, `multiplied` and `added` are the numbers that it multiplies and adds, multiplies, or
    adds; `kind` tells integers from others, so that a product meets the right sum. `bits` is the
    width of its vector, 0 where only the processor knows it. `reloads` and `spills` are loads and
    stores of vector registers at a fixed place of the stack; they are no `loads` and `stores`.
    """

    fused: int = 0
    multiplied: int = 0
    added: int = 0
    bits: int = 0
    kind: str = ""
    loads: int = 0
    stores: int = 0
    reloads: int = 0
    spills: int = 0


NO_EFFECT = Effect()


class Syntax(Protocol):
    """How instructions of one architecture are read. Registers have one name for all widths."""

    def branch(self, one: Instruction) -> Branch | None:
        """Return where a branch or a return goes on; None for any other instruction."""

    def compared(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register and the number that a branch behind it compares."""

    def step(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register that it adds a number to, and the number."""

    def constant(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register that it sets to a number, and the number."""

    def written(self, one: Instruction) -> str:
        """Return the integer register that it writes to; empty for none."""

    def effect(self, one: Instruction, has_frame: bool) -> Effect:
        """Return what it does. `has_frame`: the frame pointer points into the stack."""

    def sets_frame(self, one: Instruction) -> bool:
        """Say whether it lets the frame pointer point into the stack."""


class Function(NamedTuple):
    """The instructions of one function, and the places of its labels among them."""

    name: str
    instructions: list[Instruction]
    labels: dict[str, int]


_LABEL = re.compile(r"([.\w$]+):")
_BEGIN = re.compile(r"\t\.type\t([\w.$]+),[@%]function")


def read_functions(text: str) -> Iterator[Function]:
    """Yield the functions of an assembly; of what is too long, none."""
    if len(text) > MOST_CHARACTERS:
        return
    function: Function | None = None
    for line in text.splitlines():
        begin = _BEGIN.match(line)
        if begin:
            if function is not None:
                yield function
            function = Function(begin[1], [], {})
        elif function is not None and len(line) <= LONGEST_LINE:
            _read_line(line, function)
    if function is not None:
        yield function


def _read_line(line: str, function: Function) -> None:
    label = _LABEL.match(line)
    if label:
        function.labels[label[1]] = len(function.instructions)
    elif line[:1] == "\t" and line[1:2].isalpha():
        name, _, rest = line.strip().partition("\t")
        function.instructions.append(Instruction(name, _operands(rest)))


def _operands(text: str) -> tuple[str, ...]:
    """Divide operands at commas that are in no brackets."""
    operands, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and depth == 0:
            operands.append(text[start:place].strip())
            start = place + 1
    last = text[start:].strip()
    return (*operands, last) if last else tuple(operands)
