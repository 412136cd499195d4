"""An advice about a TIR statement, done in the student's own function as it is written.

What is named is looked for in TVM's script of the function, whatever casts stand around it, and
what is advised is put in its place, everywhere in the block. TVM reads what comes of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import tvm
from tvm import relax
from tvm.script import from_source
from tvm.script import tirx as T  # noqa: N812

from grader.diagnosis.mistakes import LikelyMistake

STATEMENTS = frozenset(
    {
        *("wrong_index", "wrong_operator", "wrong_operand", "operand_left_out"),
        *("arguments_exchanged", "sum_start", "axis_binding", "short_axis"),
    }
)
"""Mistakes of which the advice changes a statement."""


def applied(module: bytes, callee: str, mistake: LikelyMistake) -> bytes | None:
    """Return a module with an advice followed in its function `callee`, as TVM saves it.

    None where what is named does not stand in the block that is named.
    """
    loaded = tvm.ir.load_json(module.decode())
    name = callee if callee in [each.name_hint for each in loaded.get_global_vars()] else None
    if name is None:
        return None
    tree = ast.parse(loaded[name].script())
    followed = [_Advised(mistake).followed(each) for each in _blocks(tree, mistake)]
    if not any(followed):
        return None
    source = ast.unparse(ast.fix_missing_locations(_Undeclared().visit(tree)))
    function = from_source(source, extra_vars={"T": T, "TypeVar": TypeVar})
    loaded.update_func(loaded.get_global_var(name), function.with_attrs(loaded[name].attrs))
    text: str = tvm.ir.save_json(loaded)
    return text.encode()


def taken_in_place_of(module: bytes, variable: str, other: str) -> bytes:
    """Return a module in which what takes a variable takes another one, and nothing computes it."""
    return _rewritten(module, lambda: _InPlaceOf(variable, other))


def done_behind(module: bytes, variable: str, other: str) -> bytes:
    """Return a module in which a variable is made of another one, which is computed before it."""
    return _rewritten(module, lambda: _Ahead(variable, other))


def _rewritten(module: bytes, make: Callable[[], Any]) -> bytes:
    loaded = tvm.ir.load_json(module.decode())
    for name, function in loaded.functions_items():
        if isinstance(function, relax.Function):
            loaded.update_func(name, make().visit_expr(function))
    text: str = tvm.ir.save_json(loaded)
    return text.encode()


@relax.expr_functor.mutator
class _InPlaceOf(relax.expr_functor.PyExprMutator):
    def __init__(self, variable: str, other: str) -> None:
        super().__init__()
        self._variable, self._other = variable, other
        self._kept: Any = None

    def visit_var_binding_(self, binding: Any) -> None:
        if binding.var.name == self._variable:
            self.set_var_remap(binding.var, self._kept)
            return
        super().visit_var_binding_(binding)
        if binding.var.name == self._other:
            self._kept = self.visit_expr(binding.var)


@relax.expr_functor.mutator
class _Ahead(relax.expr_functor.PyExprMutator):
    """What the later step takes, the earlier one took as well: it takes the later one for it."""

    def __init__(self, variable: str, other: str) -> None:
        super().__init__()
        self._variable, self._other = variable, other
        self._later: Any = None

    def visit_dataflow_block_(self, block: Any) -> Any:
        self._later = next((e for e in block.bindings if e.var.name == self._other), None)
        return super().visit_dataflow_block_(block)

    def visit_var_binding_(self, binding: Any) -> None:
        later = self._later
        if later is None or binding.var.name not in (self._variable, self._other):
            super().visit_var_binding_(binding)
        elif binding.var.name == self._variable:
            super().visit_var_binding_(later)
            kept = self.visit_expr(later.var)
            shared = list(relax.analysis.free_vars(later.value))
            for each in relax.analysis.free_vars(binding.value):
                if any(each.same_as(other) for other in shared):
                    self.set_var_remap(each, kept)
            super().visit_var_binding_(binding)


def _blocks(tree: ast.AST, mistake: LikelyMistake) -> Iterator[Nested]:
    for block, loops in _nested(tree, ()):
        call = block.items[0].context_expr
        assert isinstance(call, ast.Call)
        if ast.literal_eval(call.args[0]) == mistake.facts["block"]:
            yield block, loops


Nested = tuple[ast.With, tuple[ast.For, ...]]


def _nested(node: ast.AST, loops: tuple[ast.For, ...]) -> Iterator[Nested]:
    """Yield every block with the loops around it."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, ast.With) and ast.unparse(each.items[0]).startswith("T.sblock("):
            yield each, loops
            yield from _nested(each, ())
        else:
            yield from _nested(each, (*loops, each) if isinstance(each, ast.For) else loops)


class _Undeclared(ast.NodeTransformer):
    """Takes out what blocks declare that they read and write: another statement has other."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_declared = ast.unparse(node.value).startswith(("T.reads(", "T.writes("))
        return None if is_declared else node


class _Advised:
    """Does what is advised in one block."""

    def __init__(self, mistake: LikelyMistake) -> None:
        self._kind = mistake.kind
        self._facts = mistake.facts

    def followed(self, nested: Nested) -> bool:
        """Follow the advice in a block; say whether anything was there to change."""
        block, loops = nested
        match self._kind:
            case "axis_binding" if self._facts["wanted"]:
                return _declared_as(block, self._facts["wanted"])
            case "axis_binding":
                return _bound(block, loops)
            case "short_axis":
                return self._lengthened(block, loops)
            case "arguments_exchanged":
                return self._exchanged(block)
            case "sum_start":
                begins = [self._put(each) for each in block.body if isinstance(each, ast.With)]
                return any(begins)
        return self._put(block)

    def _lengthened(self, block: ast.With, loops: Sequence[ast.For]) -> bool:
        """Let an axis and the loop that it is bound to go over as many items as it should."""
        bound = dict(_axes(block))
        loop = bound.get(self._facts["iterator"])
        longer = [e for each in loops for e in _extents(each, loop)]
        longer += _declared(block, self._facts["iterator"])
        for each in longer:
            each.value = int(self._facts["wanted"])
        return bool(longer)

    def _exchanged(self, block: ast.With) -> bool:
        names = {self._facts["found"]: self._facts["wanted"]}
        names |= {new: old for old, new in names.items()}
        found = [e for e in ast.walk(block) if isinstance(e, ast.Name) and e.id in names]
        for each in found:
            each.id = names[each.id]
        return bool(found)

    def _put(self, block: ast.With) -> bool:
        wanted = _expression(self._facts["wanted"])
        found = _expression(self._facts["found"])
        if self._kind == "operand_left_out":
            assert isinstance(wanted, ast.BinOp)
            found = wanted.left
        if found is None or wanted is None or _is_open(found):
            return False
        replacing = _Replacing(found, wanted, _casts(block))
        replacing.visit(block)
        return replacing.is_done


def _expression(text: str) -> ast.expr | None:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _is_open(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _casts(block: ast.With) -> dict[str, str]:
    """Return as what type a block reads its buffers where it casts them."""
    return {
        ast.unparse(each.args[1].value): ast.literal_eval(each.args[0])
        for each in ast.walk(block)
        if isinstance(each, ast.Call)
        and ast.unparse(each.func) == "T.Cast"
        and isinstance(each.args[1], ast.Subscript)
    }


class _Replacing(ast.NodeTransformer):
    """Puts an expression in place of another one, and the casts around what it reads."""

    def __init__(self, found: ast.expr, wanted: ast.expr, casts: dict[str, str]) -> None:
        self._found, self._wanted, self._casts = found, wanted, casts
        self.is_done = False

    def visit(self, node: ast.AST) -> Any:
        """Return what stands in place of a node."""
        holes: list[ast.AST] = []
        is_target = isinstance(getattr(node, "ctx", None), ast.Store)
        may_stand = not is_target or isinstance(self._wanted, ast.Subscript)
        if isinstance(node, ast.expr) and may_stand and _is(self._found, node, holes):
            self.is_done = True
            new = ast.unparse(self._wanted)
            written = _Written({} if is_target else self._casts, holes)
            made = written.visit(ast.parse(new, mode="eval").body)
            if is_target:
                made.ctx = ast.Store()
            return made
        # -128 is a number of its own, and not 128 with a sign.
        is_negative = isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
        return node if is_negative else self.generic_visit(node)


class _Written(ast.NodeTransformer):
    """Writes what is told as TVMScript: `max` is `T.max`, and int8 is cast before it is added."""

    def __init__(self, casts: dict[str, str], holes: Sequence[ast.AST]) -> None:
        self._casts, self._holes = casts, list(holes)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self._holes.pop(0) if node.value is ... and self._holes else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Call the function of TVM's script."""
        self.generic_visit(node)
        name = {"select": "Select"}.get(ast.unparse(node.func), ast.unparse(node.func))
        return ast.Call(ast.Attribute(ast.Name("T", ast.Load()), name, ast.Load()), node.args, [])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Cast what the block casts, but not in an index."""
        self.generic_visit(node)
        dtype = self._casts.get(ast.unparse(node.value))
        return node if dtype is None else _call("T.Cast", ast.Constant(dtype), node)


def _call(name: str, *arguments: ast.expr) -> ast.expr:
    call = ast.parse(f"{name}()", mode="eval").body
    assert isinstance(call, ast.Call)
    call.args = list(arguments)
    return call


_TYPED = ("int", "uint", "float", "bfloat", "bool")


def _plain(node: ast.AST) -> ast.AST:
    """Return an expression without casts and types: what a report writes of it."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name == "Cast":
            node = node.args[1]
        elif name.startswith(_TYPED) and len(node.args) == 1:
            node = node.args[0]
        else:
            break
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _plain(node.operand)
        if isinstance(number, ast.Constant) and isinstance(number.value, int | float):
            return ast.Constant(-number.value)
    return node


def _is(told: ast.AST, node: ast.AST, holes: list[ast.AST]) -> bool:
    """Say whether an expression is what is told; what is cut there goes to `holes`."""
    if _is_open(told):
        holes.append(node)
        return True
    told, node = _plain(told), _plain(node)
    match told, node:
        case ast.Constant(), ast.Constant():
            return bool(told.value == node.value)
        case ast.Name(), ast.Name():
            return told.id == node.id
        case ast.Subscript(), ast.Subscript():
            return _are([told.value, *_index(told)], [node.value, *_index(node)], holes)
        case ast.BinOp(), ast.BinOp():
            same = type(told.op) is type(node.op)
            return same and _are([told.left, told.right], [node.left, node.right], holes)
        case ast.Compare(), ast.Compare():
            same = type(told.ops[0]) is type(node.ops[0])
            operands = [[each.left, *each.comparators] for each in (told, node)]
            return same and _are(operands[0], operands[1], holes)
        case ast.Call(), ast.Call():
            names = [ast.unparse(each.func).rpartition(".")[2].lower() for each in (told, node)]
            return names[0] == names[1] and _are(told.args, node.args, holes)
    return False


def _are(told: Sequence[ast.AST], nodes: Sequence[ast.AST], holes: list[ast.AST]) -> bool:
    return len(told) == len(nodes) and all(
        _is(one, other, holes) for one, other in zip(told, nodes, strict=True)
    )


def _index(node: ast.Subscript) -> list[ast.expr]:
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def _bound(block: ast.With, loops: Sequence[ast.For]) -> bool:
    """Bind the axes of a block to the loops around it, in their order."""
    names = [
        each.id
        for loop in loops
        for each in (loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target])
        if isinstance(each, ast.Name)
    ]
    axes, letters = list[str](), ""
    for each in list(block.body):
        if isinstance(each, ast.Assign) and ast.unparse(each.value).startswith("T.axis."):
            target, call = each.targets[0], each.value
            assert isinstance(call, ast.Call)
            own = target.elts if isinstance(target, ast.Tuple) else [target]
            kind = ast.unparse(call.func).rpartition(".")[2]
            axes += map(ast.unparse, own)
            letters += ast.literal_eval(call.args[0]) if kind == "remap" else kind[:1].upper()
            block.body.remove(each)
    if not axes or len(axes) != len(names):
        return False
    remapped = f"T.axis.remap({letters!r}, [{', '.join(names)}])"
    bound = ast.parse(f"{', '.join(axes)} = {remapped if len(axes) > 1 else f'{remapped}[0]'}")
    block.body[0:0] = bound.body
    return True


def _declared_as(block: ast.With, letters: str) -> bool:
    """Declare the axes of a block by these letters, in their order."""
    at = 0
    for target, call in _declarations(block):
        count = len(target.elts) if isinstance(target, ast.Tuple) else 1
        own, at = letters[at : at + count], at + count
        assert isinstance(call.func, ast.Attribute)
        if call.func.attr == "remap":
            call.args[0] = ast.Constant(own)
        else:
            call.func.attr = {"S": "spatial", "R": "reduce"}[own]
    return at == len(letters)


def _axes(block: ast.With) -> Iterator[tuple[str, str]]:
    """Yield the axes of a block, each with the loop's variable that it is bound to."""
    for target, call in _declarations(block):
        last = call.args[-1]
        own = target.elts if isinstance(target, ast.Tuple) else [target]
        loops = last.elts if isinstance(last, ast.List) else [last]
        yield from zip(map(ast.unparse, own), map(ast.unparse, loops), strict=False)


def _declarations(block: ast.With) -> Iterator[tuple[ast.expr, ast.Call]]:
    for each in block.body:
        if isinstance(each, ast.Assign) and ast.unparse(each.value).startswith("T.axis."):
            value = each.value.value if isinstance(each.value, ast.Subscript) else each.value
            assert isinstance(value, ast.Call)
            yield each.targets[0], value


def _declared(block: ast.With, iterator: str) -> Iterator[ast.Constant]:
    """Yield the extent of an axis that is declared alone: `T.axis.spatial(16, i)`."""
    for target, call in _declarations(block):
        first = call.args[0]
        if ast.unparse(target) == iterator and isinstance(first, ast.Constant):
            yield from [first] if isinstance(first.value, int) else []


def _extents(loop: ast.For, variable: str | None) -> Iterator[ast.Constant]:
    """Yield the extent of the loop of a variable: of `T.grid(4, 5)`, of `range(4)`."""
    names = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    assert isinstance(loop.iter, ast.Call)
    for name, extent in zip(names, loop.iter.args, strict=False):
        if ast.unparse(name) == variable and isinstance(extent, ast.Constant):
            yield extent
