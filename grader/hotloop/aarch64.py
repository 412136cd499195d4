"""Instructions of AArch64, with NEON and SVE: the destination is the first operand."""

import re

from grader.hotloop.instructions import NO_EFFECT, Branch, Effect, Instruction

_BRANCHES = re.compile(r"(b\.[a-z]{2,5}|cbn?z|tbn?z)$")
_SHAPED = re.compile(r"\{?\s*v\d+\.(\d+)([bhsd])\b")
_SCALAR = re.compile(r"([bhsdq])\d+$")
_SCALABLE = re.compile(r"\{?\s*z\d+(?:\.([bhsd]))?\b")
_ELEMENT_BITS = {"b": 8, "h": 16, "s": 32, "d": 64, "q": 128}

_FUSED = re.compile(r"(fn?m(add|sub|la|ls|ad|sb)|ml[as]|[su]ml[as]l2?)$")
_DOT = re.compile(r"(?:[su]|us|su)dot$")
_PRODUCT = re.compile(r"(f?)mul$|[su]mull2?$")
_SUM = re.compile(r"(f?)(?:add|sub)$|[su]addw2?$|[su]adalp$")
_LOAD = re.compile(r"ld(?:u?r|p|np|[1-4]|[1-4]r|n?f?[1-4])\w*$")
_STORE = re.compile(r"st(?:u?r|p|np|[1-4])\w*$")
_STACK = re.compile(r"\[(sp|x29)(?:, #-?\d+(?:, mul vl)?)?\]!?$")
_FRAME = "x29"


class AArch64:
    """Reads instructions of AArch64."""

    def branch(self, one: Instruction) -> Branch | None:
        """Return where a branch or a return goes on; None for any other instruction."""
        if one.name in ("ret", "br", "brk"):
            return Branch("", falls_through=False)
        if one.name == "b" or _BRANCHES.match(one.name):
            target = one.operands[-1] if one.operands else ""
            return Branch(target, falls_through=one.name != "b")
        return None

    def compared(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register and the number that a branch behind it, or in it, compares."""
        if one.name == "cmp" and len(one.operands) == 2:
            register, limit = _register(one.operands[0]), _number(one.operands[1])
            return (register, limit) if limit is not None and register else None
        if one.name in ("cbz", "cbnz") and one.operands:
            return _register(one.operands[0]), 0
        step = self.step(one) if one.name in ("adds", "subs") else None
        return (step[0], 0) if step else None

    def step(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register that it adds a number to, and the number."""
        if one.name[:3] not in ("add", "sub") or len(one.operands) != 3:
            return None
        register, number = _register(one.operands[0]), _number(one.operands[2])
        if not register or number is None or _register(one.operands[1]) != register:
            return None
        return register, -number if one.name.startswith("sub") else number

    def constant(self, one: Instruction) -> tuple[str, int] | None:
        """Return the register that it sets to a number, and the number."""
        if one.name not in ("mov", "movz") or len(one.operands) != 2:
            return None
        register, source = _register(one.operands[0]), one.operands[1]
        number = 0 if source in ("xzr", "wzr") else _number(source)
        return (register, number) if register and number is not None else None

    def written(self, one: Instruction) -> str:
        """Return the integer register that it writes to; empty for none."""
        if not one.operands or one.name.startswith(("st", "cmp", "cb", "tb", "b", "tst", "ccmp")):
            return ""
        return _register(one.operands[0])

    def sets_frame(self, one: Instruction) -> bool:
        """Say whether it lets x29 point into the stack. Elsewhere that is a register like any."""
        return one.name in ("mov", "add") and one.operands[:2] == (_FRAME, "sp")

    def effect(self, one: Instruction, has_frame: bool) -> Effect:
        """Return what it does."""
        if not one.operands:
            return NO_EFFECT
        if _LOAD.match(one.name) or _STORE.match(one.name):
            return _access(one, has_frame)
        return _arithmetic(one)


def _arithmetic(one: Instruction) -> Effect:
    lanes, bits = _vector(one.operands[0])
    if _DOT.match(one.name):
        return Effect(fused=4 * lanes, bits=bits)
    if not lanes:
        return _of_integers(one)
    if _FUSED.match(one.name):
        return Effect(fused=lanes, bits=bits)
    if product := _PRODUCT.match(one.name):
        return Effect(multiplied=lanes, bits=bits, kind=product[1] or "i")
    if found := _SUM.match(one.name):
        return Effect(added=lanes, bits=bits, kind=found[1] or "i")
    return NO_EFFECT


def _of_integers(one: Instruction) -> Effect:
    """Return the product of two numbers of 32 bits; those of 64 are of addresses."""
    is_word = re.match(r"w\d+$", one.operands[0])
    return Effect(fused=1, bits=32) if one.name == "madd" and is_word else NO_EFFECT


def _vector(operand: str) -> tuple[int, int]:
    """Return the lanes of a register, and their bits together: 0 if only the processor knows them.
    It has no lanes where it holds integers for addresses."""
    if found := _SHAPED.match(operand):
        lanes = int(found[1])
        return lanes, lanes * _ELEMENT_BITS[found[2]]
    if found := _SCALAR.match(operand):
        return 1, _ELEMENT_BITS[found[1]]
    return (1, 0) if _SCALABLE.match(operand) else (0, 0)


def _access(one: Instruction, has_frame: bool) -> Effect:
    """Return the loads or stores of an instruction, one for each register."""
    is_load = one.name.startswith("ld")
    memory = next((each for each in one.operands if each.startswith("[")), "")
    registers = one.operands[: one.operands.index(memory)] if memory else one.operands[:1]
    moved = [each for each in registers if not each.startswith("p")]
    count = sum(1 + each.count(",") for each in moved)
    stack = _STACK.match(memory)
    if stack and (stack[1] == "sp" or has_frame):
        count = count if moved and _vector(moved[0])[0] else 0
        return Effect(reloads=count) if is_load else Effect(spills=count)
    return Effect(loads=count) if is_load else Effect(stores=count)


def _register(operand: str) -> str:
    """Return the integer register that an operand is, under its name for 64 bits."""
    found = re.match(r"[xw](\d{1,2})$", operand)
    return f"x{found[1]}" if found else ""


def _number(operand: str) -> int | None:
    found = re.match(r"#(-?(?:0x[0-9a-f]{1,15}|\d{1,18}))$", operand)
    return int(found[1], 0) if found else None
