"""The check of what `main` is made of: how many calls of which kind, and where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple, get_args

import msgspec

from grader.assignment import Table
from grader.ir.facts import Call, ModuleFacts
from grader.referee.evidence import Case
from grader.referee.flow import used_calls
from grader.referee.outcome import Outcome, failed, partial, passed
from grader.referee.registry import check

Kind = Literal["tir", "extern", "operator", "function"]
Demand = Literal["tir", "extern", "operator", "function", "constants", "dataflow"]
Share = Annotated[float, msgspec.Meta(ge=0, lt=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
Shape = tuple[int, ...]

_KINDS: tuple[Kind, ...] = get_args(Kind)
_ONE: dict[Kind, str] = {
    "tir": "TensorIR function",
    "extern": "external function",
    "operator": "operator",
    "function": "Relax function",
}
_CALLING: dict[Kind, str] = {
    "tir": "Write the layer as a TensorIR function and call it with R.call_tir(...).",
    "extern": "Register a function and call it with"
    ' R.call_dps_packed("env.name", (inputs), R.Tensor(shape, "float32")).',
    "operator": "Use an operator of Relax, as in R.matmul(x, w).",
    "function": "Call a function of the module that is written with R.function.",
}
_TAKE_OUT = "Compute it in one of the ways that this part asks for."


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


class _Unmet(NamedTuple):
    """A demand that is not met, why, and what to do."""

    demand: Demand
    reason: str
    hint: str


@check("calls", options=CallOptions)
def calls(case: Case, options: CallOptions) -> Outcome:
    """The graph of `main` is made of the calls that were asked for.

    Calls whose results are not used do not help to reach a number, but they exceed one.
    """
    facts = case.candidate.facts
    if not facts.has_main:
        return failed(
            "The module has no Relax function called `main`.",
            "Write the graph as a function `main` with R.function.",
        )
    unmet = list(_unmet(facts, options))
    if not unmet:
        return passed(_describe(facts))
    fraction = 1.0
    for demand in {each.demand for each in unmet}:
        fraction *= options.partial.get(demand, 0.0)
    worst = min(unmet, key=lambda each: options.partial.get(each.demand, 0.0))
    return partial(fraction, worst.reason, options.hints.get(worst.demand, worst.hint))


def _unmet(facts: ModuleFacts, options: CallOptions) -> Iterator[_Unmet]:
    used = used_calls(facts)
    for kind in _KINDS:
        yield from _too_many(_of(kind, facts.calls), kind, options.amount(kind))
    for kind in _KINDS:
        yield from _too_few(_of(kind, used), kind, options.amount(kind))
    for shape in options.constants:
        if not any(_is_given(call, shape, ("constant",)) for call in used):
            yield _Unmet(
                "constants",
                f"No call is given a constant of shape {_spell(shape)}.",
                "Bind the parameters to the module: they are constants then, not arguments.",
            )
    outside = [call for call in facts.calls if not call.dataflow] if options.dataflow else []
    if outside:
        yield _Unmet(
            "dataflow",
            f"{_made(outside[0])}, outside of a dataflow block.",
            "Put the calls under `with R.dataflow():` and name the result in R.output(...).",
        )


def _too_many(found: list[Call], kind: Kind, amount: Amount) -> Iterator[_Unmet]:
    """Compare all calls of one kind with what is allowed at most."""
    if amount.max is None or len(found) <= amount.max:
        return
    if amount.max:
        yield _Unmet(
            kind, f"`main` makes {_count(found, kind)}; it may make {amount.max}.", _TAKE_OUT
        )
    else:
        yield _Unmet(kind, f"{_made(found[0])}.", _TAKE_OUT)


def _too_few(found: list[Call], kind: Kind, amount: Amount) -> Iterator[_Unmet]:
    """Compare the calls of one kind that are used with what is wanted at least."""
    hint = _CALLING[kind]
    if len(found) < amount.min:
        wanted = f"{'' if amount.min == amount.max else 'at least '}{amount.min}"
        yield _Unmet(
            kind,
            f"The output of `main` is made by {_count(found, kind)}; it should be {wanted}.",
            hint,
        )
    called = Counter(call.callee for call in found)
    for name in Counter(amount.names) - called:
        again = " often enough" if called[name] else ""
        yield _Unmet(kind, f"`main` does not call the {_ONE[kind]} `{name}`{again}.", hint)
    for shape in amount.given:
        if not any(_is_given(call, shape, ("input", "constant")) for call in found):
            reason = f"No {_ONE[kind]} is given the tensor of shape {_spell(shape)}."
            yield _Unmet(kind, reason, hint)


def _of(kind: Kind, calls: tuple[Call, ...]) -> list[Call]:
    return [call for call in calls if call.kind == kind]


def _is_given(call: Call, shape: Shape, kinds: tuple[str, ...]) -> bool:
    return any(
        argument.kind in kinds and argument.tensor is not None and argument.tensor.shape == shape
        for argument in call.arguments
    )


def _made(call: Call) -> str:
    return f"`{call.binding}` is made by the {_ONE[call.kind]} `{call.callee}`"


def _describe(facts: ModuleFacts) -> str:
    found = [(_of(kind, facts.calls), kind) for kind in _KINDS]
    counts = [_count(calls, kind) for calls, kind in found if calls]
    return f"`main` makes {' and '.join(counts) or 'no call'}."


def _count(calls: list[Call], kind: Kind) -> str:
    number = "1 call" if len(calls) == 1 else f"{len(calls) or 'no'} calls"
    return f"{number} of {_ONE[kind]}s"


def _spell(shape: Shape) -> str:
    """Return a shape as Python writes it."""
    return str(tuple(shape))
