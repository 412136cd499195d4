"""Judge the sentences about random edits of kernels, which nobody chose.

This is `fresh.py` for kernels. Edits that change the outputs, race, leave a buffer or cannot be
executed are counted. The statement that is named must be one that is not as it was, or one within
what was changed: the body of a loop or of a condition, either side of a barrier. An advice that
names a change is followed in the text of the cell, which must be right then.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import tvm
from tvm.script import from_source
from tvm.script import ir as I  # noqa: N812
from tvm.script import tirx as T  # noqa: N812

from grader.assignment import PartTable
from grader.diagnosis.explain import explain_case
from grader.diagnosis.report import Diagnosed
from grader.evidence.case import Candidate, Case, Evidence, Problem
from grader.evidence.gpu.checks import faults
from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.failure import NotSimulatedError
from grader.evidence.gpu.inside.lowering import lower
from grader.evidence.gpu.kind import KIND
from grader.evidence.plug import Question, tables_of
from grader.evidence.registry import Outcome, find_check
from grader.progress import Silent
from tests.accuracy.edits import is_barrier, kernel_edits
from tests.accuracy.fresh import VAGUE, Fresh, FreshTrial

_JUDGED = ("gpu_threads", "gpu_fits", "gpu_equivalence")

_ROUNDS = 3
"""How often advice is followed: of two barriers that are missing, one is told first."""

_BEYOND = ("accesses item", "but must stay between")
"""Words of the sentences that name an index outside its buffer, and its range."""

_PLAIN = frozenset({"gpu-extents", "gpu-threads-of-block", "gpu-no-kernel"})
"""Reasons why a kernel is not executed that say what is wrong with it."""


class KernelSaid(NamedTuple):
    """The sentences about an edit of a kernel, and whether they hold, as in `fresh.Said`."""

    fresh: Fresh
    text: str
    first: bool | None
    advice: bool | None
    is_named: bool
    wrong: tuple[str, ...] = ()

    def __str__(self) -> str:
        marks = [*self.wrong]
        marks += ["another statement"] * (self.first is False) + ["advice"] * (self.advice is False)
        edit = self.fresh.edit
        return f"{self.fresh.part.id}, {edit.about}: {self.text} ({'; '.join(marks) or 'unnamed'})"


class KernelTrial(FreshTrial):
    """Random edits of kernels and of their schedules."""

    edited = staticmethod(kernel_edits)

    def written(self, sources: Sequence[str], cell: int) -> str:
        """Return the text of a cell, behind the function that makes what a schedule begins on."""
        own = sources[cell - 1]
        makers = [each for each in sources[:cell] if each.startswith("def ")]
        return "\n\n".join([*(e for e in makers if f"({e[4:].partition('(')[0]}()" in own), own])

    def told(self, fresh: Fresh, runners: Any) -> Any:
        """Return what is said of an edit; None where nothing is wrong."""
        found = self._found(fresh.part, fresh.candidate, runners)
        case = self._case(fresh.part, fresh.candidate, found)
        oracle = self.prepared.answers(self.prepared.data(Silent())).result().of(fresh.part)
        diagnosed = Diagnosed(fresh.candidate, fresh.part, self.chosen.assignment, oracle)
        case = explain_case(case, diagnosed, runners)
        if case.evidence.schedule is None and not isinstance(found, Problem):
            found = KIND.mend(self._question(fresh.part, fresh.candidate, runners), found)
            case = replace(case, evidence=replace(case.evidence, found={"gpu": found}))
        outcomes = self._outcomes(fresh.part, case)
        if all(each.verdict == "passed" for each in outcomes):
            return None
        said = [each for each in outcomes if each.verdict != "passed"]
        sentences = dict.fromkeys(t.english for each in said for t in (each.reason, each.hint))
        text = " ".join(each for each in sentences if each)
        advice = self._leads(fresh, text, runners)
        diagnosis = case.evidence.diagnosis
        is_explained = diagnosis is not None and diagnosis.mistake not in VAGUE
        is_explained = is_explained or any(each in text for each in _BEYOND)
        named = bool(advice) or is_explained or _says_what(found) or _names_step(fresh, text)
        return KernelSaid(fresh, text, _is_first(fresh, text, found), advice, named)

    def _found(self, part: PartTable, candidate: Candidate, runners: Any) -> Any:
        assert KIND.gather is not None
        return KIND.gather(self._question(part, candidate, runners))

    def _question(self, part: PartTable, candidate: Candidate, runners: Any) -> Question:
        oracle = self.prepared.answers(self.prepared.data(Silent())).result().of(part)
        return Question(
            part=part,
            candidate=candidate,
            comparison=self.chosen.assignment.comparison(part),
            oracle=oracle,
            tables=tables_of(part, KIND),
            runners=runners,
            generator=np.random.default_rng(0),
            workload=str,
        )

    def _case(self, part: PartTable, candidate: Candidate, found: Any) -> Case:
        evidence = Evidence(found={"gpu": found})
        return Case(candidate, evidence, self.chosen.assignment.comparison(part))

    def _outcomes(self, part: PartTable, case: Case) -> list[Outcome]:
        made = [(find_check(each), each) for each in part.made if each.kind in _JUDGED]
        return [kind.decide(case, kind.parse(each)) for kind, each in made]

    def _leads(self, fresh: Fresh, text: str, runners: Any) -> bool | None:
        """Say whether the cell is right once it is as is advised; None where no change is named."""
        source = fresh.edit.source
        for tried in range(_ROUNDS):
            source = advised(source, text) if fresh.part.entry_kind == "module" else None
            if source is None:
                return False if tried else None
            candidate = _captured(fresh, source)
            if candidate is None:
                return False
            found = self._found(fresh.part, candidate, runners)
            if not isinstance(found, Problem):
                found = KIND.mend(self._question(fresh.part, candidate, runners), found)
            outcomes = self._outcomes(fresh.part, self._case(fresh.part, candidate, found))
            said = [each for each in outcomes if each.verdict != "passed"]
            if not said:
                return True
            text = " ".join(t.english for each in said for t in (each.reason, each.hint))
        return False


def _captured(fresh: Fresh, source: str) -> Candidate | None:
    """Return the candidate that a cell of TVMScript makes, None where TVM refuses it."""
    import msgspec

    from tests.ir.modules import save

    try:
        module = from_source(source, {"I": I, "T": T})
    except Exception:
        return None
    capture = msgspec.structs.replace(fresh.candidate.capture, module=save(module))
    from grader.evidence.candidates import inspect
    from grader.evidence.plug import admission

    found = inspect(fresh.part, capture, admission(fresh.part))
    return None if isinstance(found, Problem) else found


def _says_what(found: Any) -> bool:
    """Say whether the kind of fault is the mistake itself."""
    if isinstance(found, Problem):
        return found.code == "signature" or found.reason.id in _PLAIN
    return any(each.kind in ("divergent_barrier", "outside_kernel") for each in faults(found)[:1])


_STEP = re.compile(r"In cell \d+, line (\d+), ")
_ADDED = re.compile(r"(Bind) the loop `\S*` to|Add the step `(\w+)\(")


def _names_step(fresh: Fresh, text: str) -> bool:
    """Say whether a step of a schedule is named that was edited, or one that was left out."""
    if fresh.part.entry_kind != "schedule":
        return False
    lines, added = _STEP.findall(text), _ADDED.findall(text)
    names = [(one or other).lower() for one, other in added]
    is_added = any(f".{each}(" in fresh.edit.about for each in names)
    return str(fresh.edit.line) in lines or is_added


# --- the statement that is named ------------------------------------------------------------------


def stores(candidate: Candidate) -> list[str]:
    """Return the texts of a candidate's stores, as they are executed."""
    module = tvm.ir.load_json(candidate.capture.module.decode())
    name = next(iter(candidate.facts.functions))
    try:
        lowered = lower(module, name, "sm_80")
    except NotSimulatedError:
        return []
    from grader.evidence.gpu.inside.quoting import quote_store
    from grader.evidence.gpu.inside.statements import statements_in

    found = [e for e in statements_in(lowered.function.body) if type(e).__name__ == "BufferStore"]
    assert Program is not None
    return [quote_store(each) for each in found]


_QUOTED = re.compile(r"`([^`]* = [^`]*)`")
_CONDITION = re.compile(r"`if ([^`]*)`")
_LEFT_OUT = re.compile(r"`(\w+)\[[^`]*` becomes `pass`")
_LOOP = re.compile(r"loop `(\w+)`|Keep `(\w+)` in")


def _is_first(fresh: Fresh, text: str, found: Any) -> bool | None:
    """Say whether what was changed is named: a statement, a condition, a loop, a buffer's memory.

    None where nothing can be named, as of a kernel that is not executed.
    """
    if fresh.part.entry_kind == "schedule":
        if _STEP.search(text) or _ADDED.search(text):
            return _names_step(fresh, text) or _names_other_of_two(fresh, text)
        return _is_base_named(text)
    if (left_out := _LEFT_OUT.match(fresh.edit.about)) and f"stores `{left_out[1]}[" in text:
        return True
    named = [_plain(each.rstrip("…")) for each in _QUOTED.findall(text)]
    edited = _plain(fresh.edit.source.splitlines()[fresh.edit.line - 1])
    if any(_plain(each) in edited for each in _CONDITION.findall(text)):
        return True
    if any(f"for{each}in" in edited or f"{each}=" in edited for each in _loops(text)):
        return True
    if not named:
        return None if isinstance(found, Problem) else False
    before, after = (set(map(_plain, stores(each))) for each in (fresh.right, fresh.candidate))
    changed = after - before
    if changed and any(each.startswith(one) for each in changed for one in named):
        return True
    return None if changed and not named else _is_within(fresh, named)


def _names_other_of_two(fresh: Fresh, text: str) -> bool:
    """Say whether two loops are bound to one axis, and the other is named: either may be bound to
    another axis, and with the one that is advised all outputs are right."""
    lines = fresh.edit.source.splitlines()
    named = [lines[int(each) - 1] for each in _STEP.findall(text)]
    edited, axis = lines[fresh.edit.line - 1], re.compile(r"\.bind\(.*[\"']([\w.]+)[\"']\)")
    bound = axis.search(edited)
    is_same = (found and bound and found[1] == bound[1] for found in map(axis.search, named))
    return "all outputs are right" in text and any(is_same)


def _loops(text: str) -> list[str]:
    return [each for pair in _LOOP.findall(text) for each in pair if each]


def _is_base_named(text: str) -> bool | None:
    """Say whether it is told that a schedule begins on something wrong; nothing else is certain."""
    return True if "that the schedule begins on gives wrong outputs" in text else None


def _is_within(fresh: Fresh, named: list[str]) -> bool:
    """Say whether a statement stands at what was changed, or within it: a loop or a condition."""
    tree, line = ast.parse(fresh.edit.source), fresh.edit.line
    at = [each for each in ast.walk(tree) if isinstance(each, ast.stmt) and each.lineno == line]
    near = [e for e in ast.walk(tree) if isinstance(e, ast.stmt) and abs(e.lineno - line) <= 2]
    within = {
        _plain(ast.unparse(each))
        for one in (*at, *near)
        for each in ast.walk(one)
        if isinstance(each, ast.Assign)
    }
    return any(each.startswith(one) for each in within for one in named)


# --- advice, followed -----------------------------------------------------------------------------


def advised(source: str, text: str) -> str | None:
    """Return a cell with what is advised done in it; None where that is no certain change."""
    for pattern, follow in _FOLLOWED:
        found = pattern.search(text)
        if found is not None:
            tree = ast.parse(source)
            done = follow(tree, *found.groups())
            return ast.unparse(ast.fix_missing_locations(tree)) if done else ""
    return None


_SYNC = r"`T\.tvm_storage_sync\(\"shared\"\)`"
_BETWEEN = re.compile(rf"{_SYNC}, between `([^`]*)` and `([^`]*)`")
_IN_LOOP = re.compile(rf"{_SYNC}, at the end of the body of the loop `(\w+)`")
_EDGE = re.compile(r"Put `([^`]*)` under `([^`]*)`: then")
_WRITTEN = re.compile(r"Write `([^`]*)` instead of `([^`]*)` in `([^`]*)`: then")
_EXTENT = re.compile(r"Let the loop `(\w+)` have `(\d+)` iterations instead of `(\d+)`: then")
_AXIS = re.compile(r"Bind the loop `(\w+)` to `([\w.]+)` instead of `([\w.]+)`: then")
_SCOPE = re.compile(r"Keep `(\w+)` in `(\w+)` memory instead of")
_SHARED = re.compile(r"Write `T\.tvm_storage_sync\(\"shared\"\)`\.")
_OUT = re.compile(r"Move the barrier out of the `if`")


def _barrier() -> ast.stmt:
    return ast.parse('T.tvm_storage_sync("shared")').body[0]


def _between(tree: ast.Module, before: str, after: str) -> bool:
    """Put a barrier behind the statement `before`, outside of the conditions that end with it."""
    for body, at in _places(tree):
        if _is_store(body[at], before):
            body.insert(at + 1, _barrier())
            return True
        inner = body[at]
        if isinstance(inner, ast.If) and any(_is_store(e, before) for e in ast.walk(inner)):
            body.insert(at + 1, _barrier())
            return True
    return False


def _in_loop(tree: ast.Module, loop: str) -> bool:
    for each in ast.walk(tree):
        if isinstance(each, ast.For) and ast.unparse(each.target) == loop:
            each.body.append(_barrier())
            return True
    return False


def _at_edge(tree: ast.Module, statement: str, condition: str) -> bool:
    """Put a condition around a statement."""
    for body, at in _places(tree):
        if _is_store(body[at], statement):
            made = ast.parse(f"{condition}:\n    pass").body[0]
            assert isinstance(made, ast.If)
            made.body, body[at] = [body[at]], made
            return True
    return False


def _written(tree: ast.Module, after: str, before: str, statement: str) -> bool:
    """Write something else where it stands in a statement, or in the condition of one."""
    for node in ast.walk(tree):
        part = node.test if isinstance(node, ast.If) and statement.startswith("if ") else node
        wanted = statement.removeprefix("if ")
        is_there = part is not node and _plain(ast.unparse(part)) == _plain(wanted)
        if not (is_there or _is_store(node, statement)):
            continue
        return _replaced(node, before, after)
    return False


def _replaced(root: ast.AST, before: str, after: str) -> bool:
    """Replace the expressions of a statement that are spelled so."""
    done = False
    wanted, new = _plain(before), ast.parse(after, mode="eval").body
    for parent in ast.walk(root):
        for name, value in ast.iter_fields(parent):
            values = value if isinstance(value, list) else [value]
            for at, each in enumerate(values):
                if isinstance(each, ast.expr) and _plain(ast.unparse(each)) == wanted:
                    done = True
                    if isinstance(value, list):
                        value[at] = new
                    else:
                        made = copy.deepcopy(new)
                        if hasattr(each, "ctx") and hasattr(made, "ctx"):
                            made.ctx = each.ctx
                        setattr(parent, name, made)
    return done


def _with_extent(tree: ast.Module, loop: str, after: str, _before: str) -> bool:
    for each in ast.walk(tree):
        if isinstance(each, ast.For) and ast.unparse(each.target) == loop:
            assert isinstance(each.iter, ast.Call)
            each.iter.args[0] = ast.Constant(int(after))
            return True
    return False


def _with_axis(tree: ast.Module, loop: str, after: str, _before: str) -> bool:
    for each in ast.walk(tree):
        if isinstance(each, ast.For) and ast.unparse(each.target) == loop:
            assert isinstance(each.iter, ast.Call)
            each.iter.keywords = [ast.keyword("thread", ast.Constant(after))]
            return True
    return False


def _with_scope(tree: ast.Module, buffer: str, scope: str) -> bool:
    for each in ast.walk(tree):
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == buffer:
            assert isinstance(each.value, ast.Call)
            each.value.keywords = [ast.keyword("scope", ast.Constant(scope))]
            return True
    return False


def _with_shared_barriers(tree: ast.Module) -> bool:
    for each in filter(is_barrier, ast.walk(tree)):
        assert isinstance(each, ast.Expr) and isinstance(each.value, ast.Call)
        each.value.args = [ast.Constant("shared")]
    return True


def _moved_out(tree: ast.Module) -> bool:
    for body, at in _places(tree):
        inner = body[at]
        if isinstance(inner, ast.If) and any(map(is_barrier, inner.body)):
            barriers = [each for each in inner.body if is_barrier(each)]
            inner.body = [each for each in inner.body if not is_barrier(each)] or [ast.Pass()]
            body[at + 1 : at + 1] = barriers
            return True
    return False


_FOLLOWED = (
    (_BETWEEN, _between),
    (_IN_LOOP, _in_loop),
    (_EDGE, _at_edge),
    (_WRITTEN, _written),
    (_EXTENT, _with_extent),
    (_AXIS, _with_axis),
    (_SCOPE, _with_scope),
    (_SHARED, _with_shared_barriers),
    (_OUT, _moved_out),
)


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            yield from ((body, at) for at in range(len(body)))


def _is_store(node: ast.AST, text: str) -> bool:
    """Say whether a statement of a cell is one that is quoted: the kernel's has other names."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Subscript):
        return False
    return _plain(ast.unparse(node)) == _plain(text)


def _plain(text: str) -> str:
    """Return a statement with the names of TVM's own variables as cells have them."""
    for name, short in (("blockIdx.x", "bx"), ("threadIdx.x", "tx"), ("blockIdx.y", "by")):
        text = text.replace(name, short)
    text = re.sub(r"T\.float32\(([^)]*)\)", r"\1", text)
    text = re.sub(r"T\.shift_right\(([^,]*), ([^)]*)\)", r"(\1 >> \2)", text)
    return re.sub(r"[()\s]", "", text)
