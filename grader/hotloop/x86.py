"""Instructions of x86-64 in AT&T's syntax: the destination is the last operand."""

import re

from grader.hotloop.instructions import NO_EFFECT, Branch, Effect, Instruction

_CONDITION = re.compile(r"j(?!mp)[a-z]{1,3}$")
_VECTOR = re.compile(r"%([xyz])mm\d+")
_WIDTHS = {"x": 128, "y": 256, "z": 512}
_STACK = re.compile(r"-?\d*\(%r([sb])p\)$")
"""A fixed place of the stack. With an index it is an array of the function's own."""

_FUSED = re.compile(r"vfn?m(?:add|sub)(?:132|213|231)?([ps])([sdh])$")
_FLOAT = re.compile(r"v?(mul|add|sub)([ps])([sdh])$")
_INTEGER = re.compile(r"v?p(mull|add|sub)([wd])$")
_WIDENED = re.compile(r"v?pmulu?dq$")
_DOT = re.compile(r"v?(?:pdp(b)[us]+ds?|pdp(w)[us]+ds?|pmadd(w)d|dpb(f)16ps)$")
_GATHER = re.compile(r"vp?(gather|scatter)[dq](ps|pd|d|q)$")

_ELEMENT_BITS = {"h": 16, "w": 16, "s": 32, "d": 64}
_INTEGER_BITS = {"w": 16, "d": 32}
_DOT_BITS = {"b": 8, "w": 16, "f": 16}

_STEPS = {"inc": 1, "dec": -1, "add": 1, "sub": -1}
_READ_ONLY = re.compile(r"(cmp|test|bt|prefetch|nop|lea|call|jmp|push|pop|ret)")
_NO_ACCESS = re.compile(r"(prefetch|nop|lea|call|jmp)")

_NAMES = {
    alias: full
    for full, *others in (
        ("rax", "eax", "ax", "al"),
        ("rbx", "ebx", "bx", "bl"),
        ("rcx", "ecx", "cx", "cl"),
        ("rdx", "edx", "dx", "dl"),
        ("rsi", "esi", "si", "sil"),
        ("rdi", "edi", "di", "dil"),
        ("rbp", "ebp", "bp", "bpl"),
        ("rsp", "esp", "sp", "spl"),
        *((f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b") for n in range(8, 16)),
    )
    for alias in (full, *others)
}


class X86:
    """Reads instructions of x86-64."""

    def branch(self, one: Instruction) -> Branch | None:
        """Return where a jump or a return goes on; None for any other instruction."""
        if one.name.startswith("ret") or one.name == "ud2":
            return Branch("", falls_through=False)
        if one.name == "jmp" or _CONDITION.match(one.name):
            target = one.operands[0] if one.operands else ""
            return Branch(target, falls_through=one.name != "jmp")
        return None

    def compared(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register and the number that a jump behind it compares."""
        if one.name.startswith("cmp") and len(one.operands) == 2:
            limit, register = _number(one.operands[0]), _register(one.operands[1])
            return (register, limit) if limit is not None and register else None
        if one.name in ("testl", "testq") and one.operands[0] == one.operands[-1]:
            return _register(one.operands[0]), 0
        step = self.step(one)
        return (step[0], 0) if step and not one.name.startswith("lea") else None

    def step(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register that it adds a number to, and the number."""
        if not one.operands:
            return None
        register = _register(one.operands[-1])
        sign = _STEPS.get(one.name[:3], 0) if len(one.name) == 4 else 0
        if register and sign and len(one.operands) == 1:
            return register, sign
        if register and sign:
            number = _number(one.operands[0])
            return None if number is None else (register, sign * number)
        return _moved_on(one, register)

    def constant(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register that it sets to a number, and the number."""
        if len(one.operands) != 2:
            return None
        source, register = one.operands[0], _register(one.operands[1])
        if not register:
            return None
        if one.name in ("xorl", "xorq") and _register(source) == register:
            return register, 0
        number = _number(source) if one.name.startswith("mov") else None
        return None if number is None else (register, number)

    def written(self, one: Instruction) -> str:
        """Return the integer register that it writes to; empty for none."""
        if not one.operands or (_READ_ONLY.match(one.name) and not one.name.startswith("lea")):
            return ""
        return _register(one.operands[-1])

    def sets_frame(self, one: Instruction) -> bool:
        """Say whether it lets %rbp point into the stack. Elsewhere that is a register like any."""
        return one.name == "movq" and one.operands == ("%rsp", "%rbp")

    def effect(self, one: Instruction, has_frame: bool) -> Effect:
        """Return what it does."""
        vectors = [match[1] for each in one.operands for match in _VECTOR.finditer(each)]
        bits = max((_WIDTHS[each] for each in vectors), default=0)
        effect = _arithmetic(one.name, bits)
        return _with_accesses(effect, one, has_frame, is_vector=bool(vectors))


def _arithmetic(name: str, bits: int) -> Effect:
    """Return the products and sums of an instruction whose registers have so many bits."""
    if found := _FUSED.match(name):
        lanes, width = _lanes(found[1], _ELEMENT_BITS[found[2]], bits)
        return Effect(fused=lanes, bits=width)
    if found := _DOT.match(name):
        element = _DOT_BITS["".join(filter(None, found.groups()))]
        return Effect(fused=bits // element, bits=bits)
    if found := _FLOAT.match(name):
        lanes, width = _lanes(found[2], _ELEMENT_BITS[found[3]], bits)
        return _one_of(found[1] == "mul", lanes, width, found[2] + found[3])
    if found := _INTEGER.match(name):
        lanes, width = _lanes("p", _INTEGER_BITS[found[2]], bits)
        return _one_of(found[1] == "mull", lanes, width, "i")
    if _WIDENED.match(name):
        return _one_of(True, bits // 64, bits, "i")
    if name == "imull":
        return _one_of(True, 1, 32, "il")
    return _one_of(False, 1, 32, "il") if name == "addl" else NO_EFFECT


def _lanes(packed: str, element: int, bits: int) -> tuple[int, int]:
    return (bits // element, bits) if packed == "p" else (1, element)


def _one_of(is_product: bool, lanes: int, bits: int, kind: str) -> Effect:
    """Return a product, or a sum."""
    if is_product:
        return Effect(multiplied=lanes, bits=bits, kind=kind)
    return Effect(added=lanes, bits=bits, kind=kind)


def _with_accesses(effect: Effect, one: Instruction, has_frame: bool, is_vector: bool) -> Effect:
    """Add what the instruction reads and writes in memory."""
    memory = next((each for each in one.operands if "(" in each), "")
    if not memory or _NO_ACCESS.match(one.name):
        return effect
    stack = _STACK.match(memory)
    is_destination = memory == one.operands[-1] and not _READ_ONLY.match(one.name)
    if stack and (stack[1] == "s" or has_frame):
        if not is_vector:
            return effect
        return effect._replace(spills=1) if is_destination else effect._replace(reloads=1)
    count = _gathered(one)
    if not is_destination:
        return effect._replace(loads=count)
    changes_in_place = not is_vector and not one.name.startswith(("mov", "set"))
    return effect._replace(stores=count, loads=int(changes_in_place))


def _gathered(one: Instruction) -> int:
    """Return how many places of memory it accesses: one, or each lane's."""
    found = _GATHER.match(one.name)
    if not found:
        return 1
    data = one.operands[0] if found[1] == "scatter" else one.operands[-1]
    vector = _VECTOR.match(data)
    element = 32 if found[2] in ("ps", "d") else 64
    return _WIDTHS[vector[1]] // element if vector else 1


def _moved_on(one: Instruction, register: str) -> tuple[str, int] | None:
    """Return the step of `leaq 16(%rax), %rax`."""
    if not one.name.startswith("lea") or not register:
        return None
    found = re.match(r"(-?\d+)\(%(\w+)\)$", one.operands[0])
    if found and _NAMES.get(found[2]) == register:
        return register, int(found[1])
    return None


def _register(operand: str) -> str:
    """Return the integer register that an operand is, under its name for 64 bits."""
    return _NAMES.get(operand[1:], "") if operand.startswith("%") else ""


def _number(operand: str) -> int | None:
    return int(operand[1:]) if re.match(r"\$-?\d{1,18}$", operand) else None
