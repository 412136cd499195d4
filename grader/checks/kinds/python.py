"""The check of how a function of NumPy is written: its loops, and operations on arrays.

The text is a stranger's. It is parsed, which runs nothing of it, and never compiled. A text says
what is written and not what happens: names may stand for anything, and what is not certain from
the text alone is not held against it.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import msgspec

from grader.assignment import PositiveInt, Table
from grader.evidence.case import Case, Problem
from grader.evidence.registry import Outcome, check, failed, not_graded, partial, passed
from grader.language import say

TEXT_LIMIT = 20_000
"""Longest text that is parsed, in characters. It keeps every expression shallow enough to build."""

NODE_LIMIT = 100_000
"""Most nodes of all functions, those of nested ones counted again: a walk takes a microsecond for
each. A function of `TEXT_LIMIT` characters has a quarter of that."""

SIGHTINGS = 3
"""Most operations on whole arrays that are listed."""

QUOTED_LIMIT = 16
"""How many are quoted at most to find so many different ones."""

_SEGMENT = 60
"""Characters that are quoted of one operation."""

_ESCAPE = re.compile(r"\\[^\n]")
Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MEMBERSHIP = (ast.In, ast.NotIn, ast.Is, ast.IsNot)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

# fmt: off
_WORK = frozenset({
    "addmm", "apply_along_axis", "bmm", "convolve", "correlate", "dot", "einsum", "inner", "kron",
    "linear", "matmul", "mm", "multi_dot", "outer", "relu", "tensordot", "vdot", "vectorize",
})
"""Names of functions that do a layer's work at once, whoever's they are."""

_LIBRARIES = frozenset({"jax", "jnp", "scipy", "tensorflow", "tf", "topi", "torch", "tvm"})
_NUMPY = frozenset({"np", "numpy"})

_REDUCTIONS = frozenset({
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "cumprod", "cumsum", "max", "mean",
    "median", "min", "nanmax", "nanmean", "nanmin", "nanprod", "nansum", "norm", "prod", "ptp",
    "reduce", "std", "sum", "trace", "trapezoid", "var",
})
"""Functions of one array, and its methods: their operand is no element, even if it is a product."""
_METHODS = _REDUCTIONS | {"clip"}

_ALLOCATIONS = frozenset({
    "empty", "empty_like", "full", "full_like", "ones", "ones_like", "zeros", "zeros_like",
})
_NEUTRAL = _ALLOCATIONS | {
    "arange", "array", "asarray", "ascontiguousarray", "assert_allclose", "copy", "copyto",
    "expand_dims", "ndenumerate", "ndim", "nditer", "ravel", "reshape", "shape", "size", "squeeze",
    "transpose",
}
"""What NumPy does with a whole array without computing."""
# fmt: on


class PythonFacts(msgspec.Struct, frozen=True):
    """What a text shows.

    `loops` is how deep loops are nested at most, through calls of functions of the same text too;
    those that go round once are none. `allocates`: an array is made in a size that is given.
    `whole` quotes operations on whole arrays, at most `SIGHTINGS` of them.
    """

    loops: int
    allocates: bool
    whole: tuple[str, ...]


def read_python(text: str, entry: str) -> PythonFacts | None:
    """Return what a text shows whose function `entry` is called with arrays, None if unreadable."""
    if len(text) > TEXT_LIMIT:
        return None
    # An escape that Python does not know would make the parser print a warning.
    text = _ESCAPE.sub("xx", text)
    try:
        functions = _functions(ast.parse(text))
        if _is_tangled(functions):
            return None
        named = {each.name: each for each in functions}
        return PythonFacts(
            loops=_Loops(named).deepest(),
            allocates=any(map(_allocates, functions)),
            whole=_sightings(text, (_Scope(each, entry, named) for each in functions)),
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _functions(tree: ast.Module) -> list[Function]:
    """Return all functions of a text: one may hide behind another one of its name."""
    return [node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)]


def _is_tangled(functions: Iterable[Function]) -> bool:
    """Say whether it would take long to walk through all functions, one inside of the other."""
    nodes = (node for each in functions for node in ast.walk(each))
    return next(itertools.islice(nodes, NODE_LIMIT, None), None) is not None


def _sightings(text: str, scopes: Iterable[_Scope]) -> tuple[str, ...]:
    """Return what is written at the first sightings; to quote one takes as long as the text is."""
    nodes = (node for scope in scopes for node in scope.sightings())
    quotes = (_quote(text, node) for node in itertools.islice(nodes, QUOTED_LIMIT))
    return tuple(itertools.islice(dict.fromkeys(quotes), SIGHTINGS))


def _quote(text: str, node: ast.AST) -> str:
    """Return what is written at a node, on one line."""
    written = " ".join((ast.get_source_segment(text, node) or "").split())
    return written if len(written) <= _SEGMENT else f"{written[:_SEGMENT]} …"


def _callee(call: ast.Call) -> str:
    """Return the last name of what is called: `matmul` of `np.matmul(...)`."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _allocates(function: Function) -> bool:
    return any(isinstance(node, ast.expr) and _is_allocation(node) for node in ast.walk(function))


# --- loops ----------------------------------------------------------------------------------------


class _Loops:
    """How deep loops are nested, through calls of functions of the same text too."""

    def __init__(self, functions: Mapping[str, Function]) -> None:
        self.functions = functions
        self.known: dict[str, int] = {}

    def deepest(self) -> int:
        """Return the depth of the deepest loop of all functions."""
        return max((self.depth(name) for name in self.functions), default=0)

    def depth(self, name: str) -> int:
        """Return the depth of the deepest loop that runs when a function is called."""
        if name not in self.known:
            self.known[name] = 0  # stands for a call of itself
            self.known[name] = max(self.depths(self.functions[name]))
        return self.known[name]

    def depths(self, function: Function) -> Iterator[int]:
        """Return the depths of all nodes of a function."""
        pending: list[tuple[ast.AST, int]] = [(function, 0)]
        while pending:
            node, depth = pending.pop()
            callee = _called_name(node)
            yield depth + (self.depth(callee) if callee in self.functions else 0)
            pending.extend(
                (child, depth + _rounds(node, child)) for child in ast.iter_child_nodes(node)
            )


def _called_name(node: ast.AST) -> str:
    """Return the plain name that a node calls, empty if it calls none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return ""


def _rounds(node: ast.AST, child: ast.AST) -> int:
    """Return how many loops a node puts around one of its children."""
    if isinstance(node, ast.While):
        return 1
    if isinstance(node, ast.For | ast.AsyncFor):
        return 0 if child is node.iter else _loops_of(node.iter)
    if isinstance(node, _COMPREHENSIONS) and not isinstance(child, ast.comprehension):
        return sum(_loops_of(each.iter) for each in node.generators)
    return 0


def _loops_of(iterable: ast.expr) -> int:
    """Return how many loops it takes to go through an iterable, none where it has one element."""
    if not isinstance(iterable, ast.Call):
        return 1
    name, arguments = _callee(iterable), iterable.args
    if name == "range":
        return 0 if _is_once(arguments) else 1
    if name == "product":
        return sum(_loops_of(each) for each in arguments)
    if name == "ndindex":
        single = arguments[0] if len(arguments) == 1 else None
        extents = single.elts if isinstance(single, ast.Tuple | ast.List) else arguments
        return sum(not _is_number(each, 1) for each in extents) if len(extents) > 1 else 2
    return 1


def _is_once(bounds: list[ast.expr]) -> bool:
    if len(bounds) == 2 and _is_number(bounds[0], 0):
        return _is_number(bounds[1], 1)
    return len(bounds) == 1 and _is_number(bounds[0], 1)


def _is_number(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number


# --- operations on whole arrays -------------------------------------------------------------------


class _Scope:
    """One function, and which of its names are certainly arrays.

    A name is an array if the function indexes it, allocates it, or is the entry and has it as a
    parameter. Its number of axes is at least the most indices that it is given anywhere.
    """

    def __init__(self, function: Function, entry: str, own: Mapping[str, Function]) -> None:
        self.function = function
        self.own = own
        self.axes: dict[str, int] = {}
        if function.name == entry:
            self.axes.update((name, 1) for name in _required(function))
        for node in ast.walk(function):
            if isinstance(node, ast.Subscript):
                name, indices = _indexed(node)
                self.axes[name] = max(self.axes.get(name, 1), indices)
            elif isinstance(node, ast.Assign) and _is_allocation(node.value):
                self.axes.update(
                    (each.id, max(self.axes.get(each.id, 1), 1))
                    for each in node.targets
                    if isinstance(each, ast.Name)
                )
        self.axes.pop("", None)

    def sightings(self) -> Iterator[ast.AST]:
        """Return the operations on whole arrays, in the order of a walk."""
        return (node for node in ast.walk(self.function) if self.is_at_once(node))

    def is_at_once(self, node: ast.AST) -> bool:
        """Say whether a node computes with a whole array, or with a whole part of one."""
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, ast.MatMult) or self.combines(node.left, node.right)
        if isinstance(node, ast.AugAssign):
            return isinstance(node.op, ast.MatMult) or self.combines(node.target, node.value)
        if isinstance(node, ast.UnaryOp):
            return not isinstance(node.op, ast.Not) and self.is_whole(node.operand)
        if isinstance(node, ast.Compare):
            plain = any(isinstance(each, _MEMBERSHIP) for each in node.ops)
            return not plain and self.combines(node.left, *node.comparators)
        return isinstance(node, ast.Call) and self.is_work(node)

    def combines(self, *operands: ast.expr) -> bool:
        """Say whether an operator has a whole array among its operands, and no list or tuple."""
        displays = any(isinstance(each, ast.Tuple | ast.List) for each in operands)
        return not displays and any(map(self.is_whole, operands))

    def is_work(self, call: ast.Call) -> bool:
        """Say whether a call does the work of a loop."""
        name, root = _callee(call), _root(call.func)
        if root in _LIBRARIES:
            return True
        # `np.sqrt(v[i] + 1e-5)` is of an element, `np.sum(row * other)` is not.
        many = self.is_many if name in _REDUCTIONS else self.is_whole
        if isinstance(call.func, ast.Attribute) and root in _NUMPY:
            return name in _WORK or (name not in _NEUTRAL and any(map(many, call.args)))
        if isinstance(call.func, ast.Attribute):
            return name in _WORK or (name in _METHODS and many(call.func.value))
        if name in self.own:
            return False
        if name in _WORK:
            return True
        return name in _REDUCTIONS and len(call.args) == 1 and self.is_many(call.args[0])

    def is_many(self, node: ast.expr) -> bool:
        """Say whether an expression that is reduced is a whole array."""
        return self.is_whole(node) or isinstance(node, ast.BinOp)

    def is_whole(self, node: ast.expr) -> bool:
        """Say whether an expression is certainly an array and not an element."""
        if isinstance(node, ast.Name):
            return node.id in self.axes
        if isinstance(node, ast.Subscript):
            name, indices = _indexed(node)
            return _is_sliced(node) or indices < self.axes.get(name, 0)
        return isinstance(node, ast.Attribute) and node.attr == "T"


def _is_allocation(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _callee(node) in _ALLOCATIONS


def _root(node: ast.expr) -> str:
    """Return the first name of a dotted one: `np` of `np.linalg.norm`."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _indexed(node: ast.expr) -> tuple[str, int]:
    """Return the name that is indexed, empty if it is no name, and by how many indices."""
    indices = 0
    while isinstance(node, ast.Subscript):
        indices += len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), indices


def _required(function: Function) -> list[str]:
    """Return the parameters that have no default."""
    places = [*function.args.posonlyargs, *function.args.args]
    return [each.arg for each in places[: len(places) - len(function.args.defaults)]]


def _is_sliced(node: ast.Subscript) -> bool:
    """Say whether a part of something is taken that has elements itself; shapes are tuples."""
    if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(each, ast.Slice) for each in parts)


class LowLevelOptions(Table, frozen=True):
    """`loops` is how deep loops must be nested somewhere; those that go round once do not count.

    `unallocated` is the share of the points that is left where no array is allocated explicitly.
    """

    loops: PositiveInt = 1
    unallocated: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1.0


@check("low_level", options=LowLevelOptions)
def low_level(case: Case, options: LowLevelOptions) -> Outcome:
    """The function computes element by element, in loops.

    Its text decides, with that of the notebook's functions that it calls, as the notebook gave it.
    Operations on whole arrays are only seen where the text leaves no doubt.
    """
    capture = case.candidate.capture
    if not capture.source:
        return not_graded(
            Problem(
                say("text-not-known", name=capture.name),
                say("define-function-with-def-in-cell-notebook"),
                code="not_captured",
            )
        )
    facts = read_python(capture.source, capture.name)
    if facts is None:
        return not_graded(
            Problem(
                say("text-cannot-read", name=capture.name),
                say("write-plain-function-few-dozen-lines"),
                code="not_captured",
            )
        )
    return _judge(facts, options)


def _judge(facts: PythonFacts, options: LowLevelOptions) -> Outcome:
    if facts.whole:
        return failed(
            say("computes-with-whole-array", code=facts.whole[0]), say("write-loops-over-elements")
        )
    if facts.loops < options.loops:
        return failed(
            say("loops-nested-deep-at-most-and-takes", deep=facts.loops, loops=options.loops),
            say("write-one-loop-for-each-axis-output"),
        )
    if not facts.allocates and options.unallocated < 1:
        return partial(
            options.unallocated,
            say("no-array-allocated-explicitly"),
            say("allocate-every-result-with-np-empty-shape"),
        )
    return passed(say("loops-nested-deep-and-no-operation", deep=facts.loops))
