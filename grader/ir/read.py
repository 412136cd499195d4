"""From the text of a module to its facts: the one entry to this package.

    document ─decode_graph▶ Graph ─check_consistency▶ allow-list, main, functions ─▶ ModuleFacts

Everything here is pure Python on bounded data. The text of a module without findings may be handed
to a runner.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from grader.ir.allow import find_forbidden
from grader.ir.bounds import find_out_of_bounds
from grader.ir.consistency import check_consistency
from grader.ir.content import find_decisions
from grader.ir.expressions import Budget, constant, tensor_facts
from grader.ir.facts import (
    Argument,
    BufferFacts,
    Call,
    Finding,
    FunctionFacts,
    GraphFacts,
    ModuleFacts,
    TensorFacts,
)
from grader.ir.form import find_forms
from grader.ir.graph import Graph, decode_graph
from grader.ir.races import find_races
from grader.ir.tir import read_function
from grader.ir.unguarded import WORK_LIMIT, find_unguarded

# --- `main` ---------------------------------------------------------------------------------------
# Facts about `main`: its inputs, the calls it binds, and where their arguments come from.


CallKind = Literal["tir", "extern", "operator", "function"]

_TIR_CALLS = {"relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad"}
_PACKED_CALLS = {"relax.call_pure_packed", "relax.call_inplace_packed"}
_VARIABLES = {"ir.Var", "relax.expr.DataflowVar"}
_OTHER = Argument(kind="other", name="", tensor=None)


class MainFacts(msgspec.Struct, frozen=True):
    """What `main` takes, does and returns."""

    inputs: tuple[BufferFacts, ...]
    output: TensorFacts | None
    calls: tuple[Call, ...]
    result: Argument | None


class _Group(NamedTuple):
    """A tuple, as the nodes of its elements."""

    items: list[int]


class _Extern(NamedTuple):
    """An external function that was bound to a variable."""

    name: str


_Origin = Argument | _Group | _Extern


class _Binding(NamedTuple):
    """The node of a binding, and whether it stands in a dataflow block."""

    node: int
    dataflow: bool


class _Target(NamedTuple):
    """What a call calls, and the nodes of its arguments."""

    kind: CallKind
    callee: str
    arguments: list[int]
    is_in_place: bool = False


def read_main(graph: Graph, function: int, budget: Budget) -> MainFacts:
    """Return the facts of a Relax function. Raises IRError when it is too large."""
    return _Reader(graph, budget).read(function)


class _Reader:
    def __init__(self, graph: Graph, budget: Budget) -> None:
        self.graph = graph
        self.budget = budget
        self.origins: dict[int, _Origin] = {}
        self.calls: list[Call] = []

    def read(self, function: int) -> MainFacts:
        """Return the facts of a Relax function. Raises IRError where it is too large."""
        graph = self.graph
        inputs = tuple(self.input(variable) for variable in graph.list(function, "params"))
        body = graph.field(function, "body")
        for binding in self.bindings(body):
            self.bind(binding.node, binding.dataflow)
        result = self.flat([graph.field(body, "body")])
        return MainFacts(
            inputs=inputs,
            output=tensor_facts(graph, graph.field(function, "ret_ty")),
            calls=tuple(self.calls),
            result=result[0] if len(result) == 1 else None,
        )

    def input(self, variable: int) -> BufferFacts:
        """Take down a parameter. One that is not a tensor has no shape and no dtype."""
        graph = self.graph
        name = graph.name(variable)
        tensor = tensor_facts(graph, graph.field(variable, "ty"))
        self.origins[variable] = Argument(kind="input", name=name, tensor=tensor)
        return BufferFacts(name=name, tensor=tensor or TensorFacts(shape=None, dtype=""))

    def bindings(self, body: int) -> Iterator[_Binding]:
        """Return the bindings of a body in order, those in an `if` before the `if` itself."""
        graph = self.graph
        pending = [_Binding(body, dataflow=False)]
        opened: set[int] = set()
        while pending:
            self.budget.spend()
            binding = pending.pop()
            index = binding.node
            if graph.type_of(index) == "relax.expr.SeqExpr":
                inner = self.sequence(index)
                self.budget.spend(len(inner))
                pending.extend(reversed(inner))
                continue
            value = graph.field(index, "value")
            if graph.type_of(value) == "relax.expr.If" and index not in opened:
                opened.add(index)
                branches = (graph.field(value, name) for name in ("false_branch", "true_branch"))
                pending.append(binding)
                pending.extend(_Binding(branch, dataflow=False) for branch in branches)
                continue
            yield binding

    def sequence(self, body: int) -> list[_Binding]:
        graph = self.graph
        return [
            _Binding(node, graph.type_of(block) == "relax.expr.DataflowBlock")
            for block in graph.list(body, "blocks")
            for node in graph.list(block, "bindings")
        ]

    def bind(self, binding: int, dataflow: bool) -> None:
        """Take down one binding: a call, or another name for something."""
        graph = self.graph
        variable, value = graph.field(binding, "var"), graph.field(binding, "value")
        if graph.type_of(value) == "ir.Call":
            self.call(variable, value, dataflow)
            return
        origin = self.origin(value)
        if origin is _OTHER:
            origin = self.value_of(variable, None)
        self.origins[variable] = self.named(origin, variable)

    def named(self, origin: _Origin, variable: int) -> _Origin:
        """Name a constant after its variable; others keep the name they were made by."""
        if isinstance(origin, Argument) and origin.kind == "constant":
            return msgspec.structs.replace(origin, name=self.graph.name(variable))
        return origin

    def value_of(self, variable: int, source: int | None) -> Argument:
        """Return the origin of what a variable is the first name of."""
        graph = self.graph
        tensor = tensor_facts(graph, graph.field(variable, "ty"))
        return Argument(kind="value", name=graph.name(variable), tensor=tensor, source=source)

    # --- calls ------------------------------------------------------------------------------------

    def call(self, variable: int, value: int, dataflow: bool) -> None:
        """Take down a call that is bound to a variable."""
        graph = self.graph
        target = self.target(value)
        result = tensor_facts(graph, graph.field(value, "ty"))
        call = Call(
            kind=target.kind,
            callee=target.callee,
            arguments=tuple(self.flat(target.arguments)),
            result=result or tensor_facts(graph, graph.field(variable, "ty")),
            binding=graph.name(variable),
            dataflow=dataflow,
            is_in_place=target.is_in_place,
        )
        self.calls.append(call)
        self.origins[variable] = self.value_of(variable, len(self.calls) - 1)

    def target(self, call: int) -> _Target:
        """Return what a call calls, and its arguments without that."""
        graph = self.graph
        operator, arguments = graph.field(call, "op"), graph.list(call, "args")
        kind = graph.type_of(operator)
        if kind == "ir.Op":
            return self.operator(graph.text(operator), arguments)
        if kind == "ir.GlobalVar":
            return _Target("function", graph.name(operator, "name_hint"), arguments)
        extern = self.extern_name(operator)
        if extern is not None:
            return _Target("extern", extern, arguments)
        return _Target("function", graph.name(operator), arguments)

    def operator(self, name: str, arguments: list[int]) -> _Target:
        """Say what a call of an operator calls: itself, or its first argument."""
        graph = self.graph
        first = arguments[0] if arguments else None
        if first is not None and name in _TIR_CALLS and graph.type_of(first) == "ir.GlobalVar":
            is_in_place = name != "relax.call_tir"
            return _Target("tir", graph.name(first, "name_hint"), arguments[1:2], is_in_place)
        extern = None if first is None else self.extern_name(first)
        if extern is not None and name == "relax.call_dps_packed":
            return _Target("extern", extern, arguments[1:2])
        if extern is not None and name in _PACKED_CALLS:
            return _Target("extern", extern, arguments[1:])
        return _Target("operator", name, arguments)

    def extern_name(self, index: int) -> str | None:
        """Return the name of the external function that a node is, or is bound to."""
        if self.graph.type_of(index) == "relax.expr.ExternFunc":
            return self.graph.name(index, "global_symbol")
        origin = self.origins.get(index)
        return origin.name if isinstance(origin, _Extern) else None

    # --- origins ----------------------------------------------------------------------------------

    def flat(self, nodes: list[int]) -> list[Argument]:
        """Return where values come from, tuples taken apart."""
        result: list[Argument] = []
        pending = list(reversed(nodes))
        while pending:
            self.budget.spend()
            origin = self.origin(pending.pop())
            if isinstance(origin, _Group):
                pending.extend(reversed(origin.items))
            else:
                result.append(origin if isinstance(origin, Argument) else _OTHER)
        return result

    def origin(self, index: int) -> _Origin:
        """Return where a value comes from; an element of a known tuple is that element."""
        graph = self.graph
        kind = graph.type_of(index)
        while kind == "ir.TupleGetItem":
            self.budget.spend()
            base, position = graph.field(index, "tuple_value"), graph.field(index, "index")
            origin = self.simple(base)
            if not isinstance(origin, _Group):
                return self.element(index, origin)
            if position >= len(origin.items):
                return _OTHER
            index = origin.items[position]
            kind = graph.type_of(index)
        return self.simple(index)

    def simple(self, index: int) -> _Origin:
        graph = self.graph
        kind = graph.type_of(index)
        if kind in _VARIABLES:
            return self.origins.get(index, _OTHER)
        if kind == "ir.Tuple":
            return _Group(graph.list(index, "fields"))
        if kind == "relax.expr.ExternFunc":
            return _Extern(graph.name(index, "global_symbol"))
        if kind == "ir.GenericConst":
            return Argument(kind="constant", name="", tensor=self.constant_facts(index))
        return _OTHER

    def constant_facts(self, index: int) -> TensorFacts | None:
        return tensor_facts(self.graph, self.graph.field(index, "ty"))

    def element(self, index: int, origin: _Origin) -> _Origin:
        """Return where an element of a tuple comes from that something else has made."""
        if isinstance(origin, Argument) and origin.kind in ("value", "input"):
            tensor = tensor_facts(self.graph, self.graph.field(index, "ty"))
            return msgspec.structs.replace(origin, tensor=tensor)
        return _OTHER


# --- whole modules --------------------------------------------------------------------------------


_NO_MAIN = MainFacts(inputs=(), output=None, calls=(), result=None)


def read_module(
    document: bytes, externs: tuple[str, ...] = (), *, will_run: bool = True
) -> ModuleFacts:
    """Return the facts of a module, given as `tvm.ir.save_json` text.

    `externs` are fnmatch patterns (`env.*`) of the external functions that `call_dps_packed` may
    name. What the allow-list refuses is in `findings`; what accesses do is only looked for in one
    that `will_run`. Raises IRError, and nothing else, when the text is not a module that TVM could
    have saved.
    """
    graph = decode_graph(document)
    check_consistency(graph)
    budget = Budget()
    functions = {
        graph.name(variable, "name_hint"): function
        for variable, function in graph.pairs(graph.field(graph.root, "functions"))
    }
    prim = {
        name: function
        for name, function in functions.items()
        if graph.type_of(function) == "tirx.PrimFunc"
    }
    main = functions.get("main")
    has_main = main is not None and graph.type_of(main) == "relax.expr.Function"
    main_facts = read_main(graph, main, budget) if main is not None and has_main else _NO_MAIN
    findings = find_forbidden(graph, externs, budget)
    forms = find_forms(graph, functions, Budget())
    read = _functions(graph, prim, forms, budget)
    faults: tuple[Finding, ...] = ()
    if will_run and not findings:  # what is refused anyway need not be looked through
        faults = (*find_out_of_bounds(graph, prim), *find_races(graph, prim))
        for each in faults:  # rows lie one behind the other: a guard lets `A[0, 17]` pass
            if read[each.where].unguarded is None:
                read[each.where] = msgspec.structs.replace(read[each.where], unguarded=each)
    return ModuleFacts(
        has_main=has_main,
        inputs=main_facts.inputs,
        output=main_facts.output,
        calls=main_facts.calls,
        functions=read,
        externs=_externs(graph),
        findings=findings,
        faults=faults,
        result=main_facts.result,
        form=forms.get("main", "") if has_main else "",
        graphs={
            name: GraphFacts(read_main(graph, node, budget).calls, _is_primitive(graph, node))
            for name, node in functions.items()
            if name != "main" and graph.type_of(node) == "relax.expr.Function"
        },
    )


def _is_primitive(graph: Graph, function: int) -> bool:
    """Say whether a Relax function has the attribute `Primitive`, and it is not 0."""
    for key, value in graph.pairs(graph.field(graph.field(function, "attrs"), "__dict__")):
        if graph.text(key) == "Primitive":
            plain = graph.type_of(value) in ("int", "bool")
            return bool(graph.values[value] if plain else constant(graph, value))
    return False


def _functions(
    graph: Graph, functions: dict[str, int], forms: dict[str, str], budget: Budget
) -> dict[str, FunctionFacts]:
    facts, looking = {}, Budget(WORK_LIMIT)
    for name, node in functions.items():
        facts[name] = msgspec.structs.replace(
            read_function(graph, name, node, budget),
            decisions=find_decisions(graph, name, node, budget),
            unguarded=find_unguarded(graph, name, node, looking),
            form=forms[name],
        )
    return facts


def _externs(graph: Graph) -> tuple[str, ...]:
    """Return the names of all external functions of Relax, each once, in the order of the text."""
    names = (
        graph.name(index, "global_symbol")
        for index, kind in enumerate(graph.types)
        if kind == "relax.expr.ExternFunc"
    )
    return tuple(dict.fromkeys(names))
