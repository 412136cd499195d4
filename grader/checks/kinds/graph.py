"""Checks of how a module is built: what `main` is made of, and what flows where in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import partial as partial_of
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec

from grader.assignment import Table
from grader.evidence.case import Case
from grader.evidence.problems import NO_MAIN
from grader.evidence.registry import NoOptions, Outcome, check, failed, partial, passed
from grader.evidence.subject import takes_as_many
from grader.ir.facts import Argument, Call, ModuleFacts
from grader.language import Text, say

_OF_SHAPES = frozenset({"relax.shape_of", "relax.size"})
"""Operators that tell nothing of a tensor but its shape."""


def input_passes_by(facts: ModuleFacts, layer: Collection[int]) -> bool:
    """Say whether the input reaches the output on a way that leads through no call of `layer`.

    Calls are named by their places in `facts.calls`. What comes from an `if` may come from
    anywhere. What else cannot be followed is left to a run.
    """
    reached: set[int] = set()

    def carries(argument: Argument) -> bool:
        return argument.kind == "input" or _is_hidden(argument) or argument.source in reached

    for place, call in enumerate(facts.calls):
        if place not in layer and not _is_of_shapes(call) and any(map(carries, call.arguments)):
            reached.add(place)
    return facts.result is not None and carries(facts.result)


def used_calls(facts: ModuleFacts) -> tuple[Call, ...]:
    """Return the calls that the output of `main` may depend on, in their order.

    An external or Relax function that is called outside of a dataflow block counts as well: it may
    do its work by writing into its arguments. All calls count where the output cannot be followed.
    """
    calls = facts.calls
    pending = [] if facts.result is None else [facts.result]
    if not pending or _is_hidden(pending[0]):
        return calls
    effects = ("extern", "function")
    used = {place for place, call in enumerate(calls) if call.kind in effects and not call.dataflow}
    pending += [argument for place in used for argument in calls[place].arguments]
    while pending:
        argument = pending.pop()
        if _is_hidden(argument):
            return calls
        if argument.source is not None and argument.source not in used:
            used.add(argument.source)
            pending.extend(calls[argument.source].arguments)
    return tuple(calls[place] for place in sorted(used))


def _is_of_shapes(call: Call) -> bool:
    return call.kind == "operator" and call.callee in _OF_SHAPES


def _is_hidden(argument: Argument) -> bool:
    """Say whether a tensor is from nowhere that can be seen: from an `if`, which has no source."""
    tensor = argument.tensor
    return argument.kind == "value" and argument.source is None and bool(tensor and tensor.shape)


Kind = Literal["tir", "extern", "operator", "function"]
Demand = Literal["tir", "extern", "operator", "function", "constants", "dataflow"]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Shape = tuple[int, ...]

_KINDS: tuple[Kind, ...] = get_args(Kind)

# Whole sentences, so that they can be translated.
_MADE: dict[Kind, Text] = {
    "tir": say("computed-by-tensorir-function"),
    "extern": say("computed-by-external-function"),
    "operator": say("computed-by-operator"),
    "function": say("computed-by-relax-function"),
}
_MANY: dict[Kind, Text] = {
    "tir": say("calls-tensorir-functions-in-main-at-most"),
    "extern": say("calls-external-functions-in-main-at-most"),
    "operator": say("calls-operators-in-main-at-most-may"),
    "function": say("calls-relax-functions-in-main-at-most"),
}
_FEW: dict[Kind, Text] = {
    "tir": say("calls-tensorir-functions-that-make-output-takes"),
    "extern": say("calls-external-functions-that-make-output-takes"),
    "operator": say("calls-operators-that-make-output-takes"),
    "function": say("calls-relax-functions-that-make-output-takes"),
}
_NAMED: dict[Kind, Text] = {
    "tir": say("calls-tensorir-function-in-main-takes"),
    "extern": say("calls-extern-in-main-takes"),
    "operator": say("calls-operator-in-main-takes"),
    "function": say("calls-relax-function-in-main-takes"),
}
_GIVEN: dict[Kind, Text] = {
    "tir": say("no-tensorir-function-takes-tensor-shape"),
    "extern": say("no-external-function-takes-tensor-shape"),
    "operator": say("no-operator-takes-tensor-shape"),
    "function": say("no-relax-function-takes-tensor-shape"),
}
_CALLING: dict[Kind, Text] = {
    "tir": say("write-layer-as-tensorir-function-and-call"),
    "extern": say("register-function-that-does-layer-and-call"),
    "operator": say("use-operator-relax-as-in-r-matmul"),
    "function": say("call-function-module-that-written"),
}
_INSTEAD: dict[Kind, Text] = {
    "tir": say("take-tensorir-out-here-this-part-asks"),
    "extern": say("do-this-without-external-function-this-part"),
    "operator": say("do-this-without-operator-relax-this-part"),
    "function": say("write-this-into-main-itself"),
}
_NAMES_SHOWN = 8


class Amount(Table, frozen=True):
    """How many calls of a kind there must be, and which.

    `names` are callees: one that is named twice must be called twice. `given` are shapes: for each
    of them, some call of the kind must be given an input or a constant of that shape.
    """

    min: Count = 0
    max: Count | None = None
    names: tuple[str, ...] = ()
    given: tuple[Shape, ...] = ()


class CallOptions(Table, frozen=True):
    """What `main` must be made of.

    A number means exactly so many calls; a kind that is left out may occur or not. `constants` are
    shapes: for each of them, some call must be given a constant of it. With `dataflow`, every call
    must stand in a dataflow block. `partial` maps a demand to the share of the points that is left
    where it is not met, nothing if not given; several that are not met are multiplied. `hints` maps
    a demand to what the student is told to do.
    """

    tir: Count | Amount | None = None
    extern: Count | Amount | None = None
    operator: Count | Amount | None = None
    function: Count | Amount | None = None
    constants: tuple[Shape, ...] = ()
    dataflow: bool = False
    partial: dict[Demand, Share] = msgspec.field(default_factory=dict)
    hints: dict[Demand, str] = msgspec.field(default_factory=dict)

    def amount(self, kind: Kind) -> Amount:
        """Return what is demanded of a kind of calls."""
        wanted: int | Amount | None = getattr(self, kind)
        if isinstance(wanted, int):
            return Amount(min=wanted, max=wanted)
        return wanted or Amount()


WITHOUT_MAIN = failed(NO_MAIN.reason, NO_MAIN.hint)


class _Unmet(NamedTuple):
    """A demand that is not met, why, and what to do."""

    demand: Demand
    reason: Text
    hint: Text


@check("calls", options=CallOptions)
def calls(case: Case, options: CallOptions) -> Outcome:
    """The graph of `main` consists of the required calls.

    Calls whose results are not used do not help to reach a number, but they exceed one.
    """
    facts = case.candidate.facts
    if not facts.has_main:
        return WITHOUT_MAIN
    unmet = list(_unmet(facts, options))
    if not unmet:
        return passed(_describe(facts))
    fraction = 1.0
    for demand in {each.demand for each in unmet}:
        fraction *= options.partial.get(demand, 0.0)
    worst = min(unmet, key=lambda each: options.partial.get(each.demand, 0.0))
    return partial(fraction, worst.reason, options.hints.get(worst.demand, worst.hint))


@check("dataflow", options=NoOptions)
def dataflow(case: Case, _options: NoOptions) -> Outcome:
    """The calls of `main` are in a dataflow block."""
    if not case.candidate.facts.calls:
        return failed(say("main-makes-no-call"), say("write-layers-first-then-graph"))
    found = calls(case, CallOptions(dataflow=True))
    is_met = found.verdict == "passed"
    return passed(say("every-call-main-in-dataflow-block")) if is_met else found


class ConstantOptions(Table, frozen=True):
    """`shapes` are those of the constants: for each of them, some call must be given one."""

    shapes: tuple[Shape, ...]


@check("constants", options=ConstantOptions)
def constants(case: Case, options: ConstantOptions) -> Outcome:
    """The parameters are constants of the module."""
    found = calls(case, CallOptions(constants=options.shapes))
    if found.verdict != "passed":
        return found
    shapes = ", ".join(str(tuple(each)) for each in options.shapes)
    return passed(say("calls-take-constants-these-shapes", shapes=shapes))


def _unmet(facts: ModuleFacts, options: CallOptions) -> Iterator[_Unmet]:
    used = used_calls(facts)
    for kind in _KINDS:
        yield from _too_many(_of(kind, facts.calls), kind, options.amount(kind))
    for kind in _KINDS:
        idle = [each for each in _of(kind, facts.calls) if each not in used]
        yield from _too_few(_of(kind, used), kind, options.amount(kind), idle)
    for shape in options.constants:
        if not any(_is_given(call, shape, ("constant",)) for call in used):
            yield _Unmet(
                "constants",
                say("no-call-takes-constant-shape", shape=str(tuple(shape))),
                say("bind-parameters-module-so-that-they-become"),
            )
    outside = [call for call in facts.calls if not call.dataflow] if options.dataflow else []
    if outside:
        yield _Unmet(
            "dataflow",
            say("outside-dataflow-block-sentence", binding=outside[0].binding),
            say("put-calls-under-with-r-dataflow"),
        )


def _too_many(found: list[Call], kind: Kind, amount: Amount) -> Iterator[_Unmet]:
    """Compare all calls of one kind with what is allowed at most."""
    if amount.max is None or len(found) <= amount.max:
        return
    if amount.max:
        reason = say(_MANY[kind], count=len(found), most=amount.max)
        yield _Unmet(kind, reason, say("do-work-several-calls-in-one", most=amount.max))
        return
    reason = say(_MADE[kind], binding=found[0].binding, callee=found[0].callee)
    yield _Unmet(kind, reason, _INSTEAD[kind])


def _too_few(found: list[Call], kind: Kind, amount: Amount, idle: list[Call]) -> Iterator[_Unmet]:
    """Compare the calls of one kind that are used with what is wanted at least.

    `idle` are those that are not: where they are enough, none is written but one passed on.
    """

    def hint(unused: list[Call], lacking: int = 1) -> Text:
        if lacking > len(unused):
            return _CALLING[kind]
        last = unused[-1]
        return say("result-does-not-reach-output", binding=last.binding, callee=last.callee)

    if len(found) < amount.min:
        reason = say(_FEW[kind], count=len(found), wanted=amount.min)
        yield _Unmet(kind, reason, hint(idle, amount.min - len(found)))
    called = Counter(call.callee for call in found)
    wanted = Counter(amount.names)
    for name in wanted - called:
        reason = say(_NAMED[kind], name=name, count=called[name], wanted=wanted[name])
        yield _Unmet(kind, reason, hint([call for call in idle if call.callee == name]))
    for shape in amount.given:
        takes = partial_of(_is_given, shape=shape, kinds=("input", "constant"))
        if not any(map(takes, found)):
            reason = say(_GIVEN[kind], shape=str(tuple(shape)))
            yield _Unmet(kind, reason, hint(list(filter(takes, idle))))


def _of(kind: Kind, calls: tuple[Call, ...]) -> list[Call]:
    return [call for call in calls if call.kind == kind]


def _is_given(call: Call, shape: Shape, kinds: tuple[str, ...]) -> bool:
    return any(
        argument.kind in kinds and argument.tensor is not None and argument.tensor.shape == shape
        for argument in call.arguments
    )


def _describe(facts: ModuleFacts) -> Text:
    names = [call.callee for call in facts.calls]
    shown = [f"`{name}`" for name in names[:_NAMES_SHOWN]]
    more = ["…"] if len(names) > _NAMES_SHOWN else []
    return say("main-makes-required-calls", names=", ".join(shown + more))


_MADE_OTHERWISE = {
    "extern": say("computed-by-external-function-not-by-call"),
    "operator": say("computed-by-operator-not-by-call-tir"),
    "function": say("computed-by-not-by-call-tir"),
}


class GraphOptions(Table, frozen=True):
    """`weights` are the shapes of the model's weights: each must be given to some call."""

    weights: tuple[tuple[int, ...], ...]


@check("call_tir_graph", options=GraphOptions)
def call_tir_graph(case: Case, options: GraphOptions) -> Outcome:
    """The model is a graph of `call_tir` into TIR functions.

    Full points when every call of `main` is a call_tir and every weight of the model is used. Half
    of them when operators of Relax are mixed in.
    """
    facts = case.candidate.facts
    wrong = [call for call in facts.calls if call.kind != "tir"]
    missing = [shape for shape in options.weights if not _is_used(facts, shape)]
    if not any(call.kind == "tir" for call in facts.calls):
        return failed(say("no-call-in-main-call-tir-into"), say("add-each-layer-with-bb-emit-te"))
    if missing:
        return failed(
            say("no-layer-takes-weight-shape", shape=f"({', '.join(map(str, missing[0]))})"),
            say("build-all-layers-model-each-with-own"),
        )
    if wrong:
        return partial(
            0.5,
            say(_MADE_OTHERWISE[wrong[0].kind], binding=wrong[0].binding, callee=wrong[0].callee),
            say("write-this-layer-with-bb-emit-te"),
        )
    return passed(say("all-calls-main-call-tir-into-tir", count=len(facts.calls)))


@check("pure_tir", options=NoOptions)
def pure_tir(case: Case, _options: NoOptions) -> Outcome:
    """The scheduled module calls TIR functions only."""
    wrong = [call for call in case.candidate.facts.calls if call.kind == "extern"]
    if wrong:
        return failed(
            say("computed-by-external-function", binding=wrong[0].binding, callee=wrong[0].callee),
            say("schedule-module-that-create-model-via-emit"),
        )
    return passed(say("no-external-function-called"))


def _is_used(facts: ModuleFacts, weight: tuple[int, ...]) -> bool:
    """Say whether a call is given the weight, or as many numbers in another order or shape.

    `weight.T` with `topi.matmul` is the layer that `weight` with `topi.nn.dense` is. Parts of it
    that are given one by one are the weight too.
    """
    return any(takes_as_many(call, weight) for call in facts.calls) or _in_parts(facts, weight)


def _in_parts(facts: ModuleFacts, weight: tuple[int, ...]) -> bool:
    """Say whether constants that differ from the weight along one axis make it up together."""
    shapes = [
        argument.tensor.shape
        for call in facts.calls
        for argument in call.arguments
        if argument.kind == "constant" and argument.tensor is not None
    ]
    for axis, extent in enumerate(weight):
        before, after = weight[:axis], weight[axis + 1 :]
        parts = [
            shape[axis]
            for shape in shapes
            if shape is not None and len(shape) == len(weight)
            if (shape[:axis], shape[axis + 1 :]) == (before, after)
        ]
        known = [part for part in parts if isinstance(part, int) and part < extent]
        if sum(known) >= extent:
            return True
    return False
