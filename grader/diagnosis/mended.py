"""A statement of a TIR function that one small edit makes right: tried before it is advised.

`A[vi, vk] + B[vk, vj]` in place of a product, `B[vi]` in place of `B[vj]`, a sum that begins with
-1: the numbers alone say that they are wrong, and not why. So the student's own statement is
computed once more, with one thing changed, from what the function was given. The
edited statement must give PyTorch's numbers, and the unedited one the student's.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice, product
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.diagnosis.align import Alignment, Observed, Status
from grader.diagnosis.covering import short_axis
from grader.diagnosis.layers import TOLERANCE, KnownValue, is_equal, known, near, numbers
from grader.diagnosis.mistakes import LikelyMistake
from grader.diagnosis.statement_edits import Edit, edits, own_edits, solved_edits
from grader.diagnosis.statements import (
    BeyondError,
    Statements,
    UnknownValueError,
    shapes_of,
    sized,
    solve,
)
from grader.diagnosis.tracing import Traced
from grader.evidence.operations import Layer
from grader.ir.facts import Argument, Block, BufferFacts, FunctionFacts, ModuleFacts
from grader.ir.vocabulary import is_name

Values = npt.NDArray[Any]

VAGUE = frozenset(
    {
        *("partly_right", "other_operand", "scaled", "bias_differs", "bias_extra"),
        *("operand_missing", "input_returned", "zeros", "sum_not_initialised", "partly_written"),
        *("wrong_terms", "largest_for_sum"),
    }
)
"""Mistakes that say less than the statement which is wrong."""

_PLACES = 48
_MORE_PLACES = 256
_MOST_EDITS = 2500
_WORK = 20_000_000
"""Terms of sums that are computed at most for one layer that a value may be: a few seconds."""

_WORK_OF_ONE = 100_000
_WORK_OF_ALL = 4_000_000
_SMALL = 1e-3
_MOST_GIVEN = 8
_MOST_LAYERS = 4


class Other(NamedTuple):
    """Another sample: what the module is given of it, and what it should return."""

    arguments: tuple[Values, ...]
    wanted: KnownValue


def with_mended_statement(
    alignment: Alignment,
    facts: ModuleFacts,
    traced: Traced,
    layers: Sequence[Layer],
    tolerance: float = TOLERANCE,
    unscheduled: ModuleFacts | None = None,
    others: Sequence[Other] = (),
) -> Alignment:
    """Return an alignment that names the edit which makes the wrong step right, if one is found.

    `unscheduled` is what a schedule was made of: where its statement gives the same wrong numbers,
    it is named as it was written, and not as the schedule left it. Where the step is what a
    function returns, an edit must be right of all `others`, too.
    """
    mistake, wrong = alignment.mistake, alignment.wrong
    if wrong is None or (mistake is not None and not _is_vague(mistake, layers)):
        return alignment
    for each in (unscheduled, facts):
        if each is not None:
            is_own = each is facts
            found = _named(alignment, each, traced, layers, tolerance, others, is_own=is_own)
            kind = found.mistake.kind if found is not None and found.mistake is not None else ""
            # The loops of what was scheduled are the schedule's, and a copy's are nobody's.
            if found is not None and not (is_own and unscheduled is not None and kind in _AXES):
                return found
    return alignment


def _named(
    alignment: Alignment,
    facts: ModuleFacts,
    traced: Traced,
    layers: Sequence[Layer],
    tolerance: float,
    others: Sequence[Other],
    *,
    is_own: bool,
) -> Alignment | None:
    """Return an alignment that names the edit of one of a module's statements, None without any.

    `is_own`: the steps are the module's own, also where what it computes depends on the memory.
    """
    mistake, wrong = alignment.mistake, alignment.wrong
    assert wrong is not None
    step = traced.steps[wrong]
    function = facts.functions.get(step.callee)
    # Of a function that a guard stopped, no buffer is seen: the one that it returns is to be right.
    is_whole = facts.has_main or step.value is None
    buffer = _buffer(function, step.variable, is_whole=is_whole)
    shape = None if function is None or not buffer else _shape(function, buffer, step)
    if function is None or shape is None:
        return None
    places = _places(alignment, layers, math.prod(shape))
    if _is_returned(facts, traced, wrong):
        places = _outputs(places, layers)
    all_given = tuple(islice(_given(function, facts, traced, alignment, layers), _MOST_GIVEN))
    if all_given and not facts.has_main:
        places = _meant(places, function, buffer, all_given[0], shape, layers, tolerance)
    best: tuple[int, Edit] | None = None
    for place in places[:_MOST_LAYERS]:
        wanted = known(layers[place].value)
        folded = _folded(function, buffer, layers[place], wanted)
        if folded is not None:
            named = LikelyMistake("clamp_range", layers[place].name, folded, place)
            return alignment._replace(mistake=named, expected=place)
        mended = partial(
            _mended,
            shape=shape,
            value=step.value,
            wanted=wanted,
            tolerance=tolerance,
            others=others,
            is_own=is_own,
            has_main=facts.has_main,
            below=None if best is None else best[1].stage,
        )
        edit = _certain_edit(function, buffer, shape, all_given, mistake, mended)
        best = best if edit is None else (place, edit)
    if best is None:
        return None
    place, found = best
    named = LikelyMistake(found.kind, layers[place].name, found.told, place)
    if step.value is None and not facts.has_main:
        return _in_block(alignment, traced, function, found.block, place)._replace(mistake=named)
    return alignment._replace(mistake=named, expected=place)


def _certain_edit(
    function: FunctionFacts,
    buffer: str,
    shape: tuple[int, ...],
    all_given: Sequence[_Given],
    mistake: LikelyMistake | None,
    mended: Callable[[FunctionFacts, str, _Given], Edit | None],
) -> Edit | None:
    """Return the edit for the first of what a function may be given for which there is one."""
    for given in all_given:
        shapes = {name: each.shape for name, each in given.values.items()}
        symbols = solve(function, {**shapes, buffer: shape})
        found = mended(sized(function, symbols), buffer, given._replace(symbols=symbols))
        if found is None or (found.kind in _AXES and not given.is_certain):
            continue
        if not _is_other(found, mistake):
            return found
    return None


def _is_returned(facts: ModuleFacts, traced: Traced, step: int) -> bool:
    """Say whether `main` returns what a step gives."""
    binding = traced.bindings[step] if step < len(traced.bindings) else None
    return facts.result is not None and binding is not None and facts.result.source == binding


def _in_block(
    alignment: Alignment, traced: Traced, function: FunctionFacts, name: str, place: int
) -> Alignment:
    """Return an alignment that departs where a block stores, which was not seen to be wrong.

    `place` is the layer that the function is to return.
    """
    stored = {each for block in function.blocks if block.name == name for each in block.stores}
    buffers = [step.variable for step in traced.steps]
    at = next((at for at, each in enumerate(buffers) if each in stored), alignment.wrong)
    assert at is not None
    statuses: list[Status] = ["unknown" if each < at else "follows" for each in range(len(buffers))]
    statuses[at] = "wrong"
    expected = place if buffers[at] == function.parameters[-1].name else None
    if at == alignment.wrong and expected is None:
        expected = alignment.expected
    return alignment._replace(statuses=tuple(statuses), wrong=at, expected=expected)


_AXES = frozenset({"axis_binding", "short_axis"})
_CLAMPS = frozenset({"clamp", "clip"})


def _folded(
    function: FunctionFacts, buffer: str, layer: Layer, wanted: KnownValue
) -> dict[str, Any] | None:
    """Return the facts of a clamp of which TVM made a number, None where it is another statement.

    `max(min(x, -128), 127)` is 127 whatever `x` is.
    """
    stores = [each for each in function.stores if each.buffer == buffer]
    value = stores[0].value if len(stores) == 1 else None
    while value is not None and value.name == "cast":
        value = value.arguments[0]
    if layer.name not in _CLAMPS or value is None or value.kind != "constant":
        return None
    if value.value not in (wanted.numbers.min(), wanted.numbers.max()):
        return None
    return {"moved": "folded", "amount": value.value}


def _is_vague(mistake: LikelyMistake, layers: Sequence[Layer]) -> bool:
    """Say whether a statement says more: also than that a quotient, as one call, is left out.

    It does not where the step is known that should be taken: a pooling that begins with 0 has the
    numbers of one that takes the ReLU.
    """
    if "wanted_step" in mistake.facts:
        return False
    if mistake.kind == "layer_left_out" and mistake.place is not None:
        return layers[mistake.place].operation.kind == "other"
    return mistake.kind in VAGUE


def _is_other(found: Edit, mistake: LikelyMistake | None) -> bool:
    """Say whether what is known says more than that some axis is bound wrongly.

    The factor of a layer is told as such, as `math.sqrt(d)` is another number in the statement.
    Letters are sure: of an output's axis that is declared R, each item seems to begin anywhere.
    """
    kind = "" if mistake is None else mistake.kind
    if found.is_solved and mistake is not None and kind == "scaled" and "wanted" in mistake.facts:
        return True
    return found.kind == "axis_binding" and not found.wanted and kind not in ("", "partly_right")


def _buffer(function: FunctionFacts | None, variable: str, *, is_whole: bool) -> str:
    """Return the buffer with a step's value: of a whole function, the last parameter."""
    if function is None or not function.parameters:
        return ""
    if is_whole:
        return function.parameters[-1].name
    names = {each.name for each in (*function.parameters, *function.allocations)}
    return variable if variable in names else ""


def _shape(function: FunctionFacts, buffer: str, step: Observed) -> tuple[int, ...] | None:
    """Return the shape of a step's value, also where a guard stopped it; None without numbers."""
    if step.value is not None:
        return step.value.shape if step.value.size else None
    shape = shapes_of(function, {}).get(buffer)
    return shape if shape and 0 not in shape and not step.is_unwritten else None


def _places(alignment: Alignment, layers: Sequence[Layer], size: int) -> list[int]:
    """Return the layers that so many numbers may be meant to be, the likeliest first."""
    ahead = [
        at
        for at, layer in enumerate(layers)
        if layer.name and layer.value.size == size and at not in alignment.matched
    ]
    first = [each for each in ahead if each == alignment.expected]
    return [*first, *(each for each in ahead if each not in first)]


def _meant(
    places: list[int],
    function: FunctionFacts,
    buffer: str,
    given: _Given,
    shape: tuple[int, ...],
    layers: Sequence[Layer],
    tolerance: float,
) -> list[int]:
    """Return the layers with which in a buffer the rest of its function is right; if none is, the
    only one that it may be.

    A sum that is divided later is no sum, whatever edit gives it a sum's numbers. What the function
    returns is an output. Where more is wrong, only what can be but one layer is meant: an edit that
    made `(x * m + (1 << s)) >> s` the product `x * m` was advised of a shift that rounds.
    """
    last = function.parameters[-1].name
    outputs = [at for at, each in enumerate(layers) if each.output is not None]
    if buffer == last or not outputs:
        return _outputs(places, layers)
    goal = known(layers[outputs[-1]].value)
    few = np.unique(np.linspace(0, goal.numbers.size - 1, _MORE_PLACES).astype(int))
    found = []
    for place in places:
        values = {**given.values, buffer: layers[place].value.reshape(shape)}
        trial = _Trial(last, given._replace(values=values), goal.shape, goal.scale, tolerance)
        found += [place] if trial.gives(function, few, goal.numbers) else []
    return found or (places if len(places) == 1 else [])


def _outputs(places: list[int], layers: Sequence[Layer]) -> list[int]:
    """Return those of some layers that are outputs, as what is returned is; all without any."""
    return [each for each in places if layers[each].output is not None] or places


def _mended(
    function: FunctionFacts,
    buffer: str,
    given: _Given,
    *,
    shape: tuple[int, ...],
    value: Values | None,
    wanted: KnownValue,
    tolerance: float,
    others: Sequence[Other],
    is_own: bool,
    has_main: bool,
    below: int | None,
) -> Edit | None:
    """Return the first edit with which the function gives what is wanted.

    `below`: of an earlier stage than this, where another layer needs no larger edit. `value` is
    what it gives, None where a guard stopped it. What leaves a buffer gives what lies behind that.
    """
    many = np.unique(np.linspace(0, math.prod(shape) - 1, _MORE_PLACES).astype(int))
    found = wanted.numbers if value is None else numbers(value)
    few = many if value is None else _chosen(~near(found, wanted, tolerance))
    trial = _Trial(buffer, given, shape, wanted.scale, tolerance)
    is_computed = trial.gives(function, few, found) and value is not None
    is_beyond = trial.is_beyond
    # Axes of which a guard has said how far they run are no riddle.
    may_bind = below is None and value is not None
    if not is_computed and not is_beyond:
        is_right = _is_bound_otherwise(function, buffer, is_own) and trial.gives(
            function, few, wanted.numbers
        )
        if is_right or not is_own:
            is_told = is_right and may_bind
            return _binding(function, buffer, has_main=has_main, is_told=is_told)
    tried = _edits(function, found, wanted) if is_computed else own_edits(function)
    if is_beyond:
        tried = chain(edits(function), tried)
    few = few[:: 1 + trial.computed // _WORK_OF_ONE]
    gives = partial(_gives_everywhere, trial, function, few, many, wanted)
    holds = partial(
        _holds, buffer=buffer, others=others, tolerance=tolerance, symbols=given.symbols
    )
    right = (
        edit
        for edit in _in_time(tried, trial, below)
        if gives(edit.function) and holds(edit.function)
    )
    first = next(right, None)
    # `C[vi, vi]` of a square may be meant as `C[vi, vj]` and as `C[vj, vi]`
    if not (is_computed or is_beyond) and first is not None and _has_equal(first, right):
        return None
    # Where every statement is right, what is not is where its axes go.
    is_told = below is None and not is_computed and trial.gives(function, few, wanted.numbers)
    found_axis = _binding(function, buffer, has_main=has_main, is_told=is_told)
    is_seen = may_bind or (found_axis is not None and found_axis.where == "long")
    return first or (found_axis if is_seen else None)


def _has_equal(first: Edit, others: Iterator[Edit]) -> bool:
    """Say whether another edit of the same stage is told otherwise."""
    return any(each.told != first.told and each.stage == first.stage for each in others)


def _in_time(tried: Iterator[Edit], trial: _Trial, below: int | None) -> Iterator[Edit]:
    """Yield edits of an earlier stage than `below`, until too many terms were computed."""
    for edit in islice(tried, _MOST_EDITS):
        if trial.computed > _WORK or (below is not None and edit.stage >= below):
            return
        yield edit


def _gives_everywhere(
    trial: _Trial,
    function: FunctionFacts,
    few: npt.NDArray[np.intp],
    many: npt.NDArray[np.intp],
    wanted: KnownValue,
    edited: FunctionFacts,
) -> bool:
    """Say whether a function with an edit gives what is wanted, and not by chance."""
    before = trial.computed
    if not trial.gives(edited, few, wanted.numbers):
        return False
    if _is_by_chance(function, edited, trial.given.symbols):
        return False
    terms = 1 + (trial.computed - before) // len(few)
    places = (many, *_all_places(wanted.numbers.size, terms))
    return all(trial.gives(edited, each, wanted.numbers) for each in places)


def _is_by_chance(
    function: FunctionFacts, edited: FunctionFacts, symbols: Mapping[str, int]
) -> bool:
    """Say whether an edit computes with an extent, as a number, that another call has otherwise, or
    reads less than the function: one of its arguments not at all any more.

    Of an extent of 1 nothing shows: neither an index that should be 0 nor what is divided by it.
    Without the scale of a norm, taking its shift out as well leaves PyTorch's quotient.
    """
    added = _constants(edited) - _constants(function)
    is_of_one_size = any(each == 1 or each in added for each in symbols.values())
    return is_of_one_size or _read(edited) < _read(function)


def _read(function: FunctionFacts) -> set[str]:
    """Return the arguments that a function reads."""
    values = (store.value for store in function.stores if store.value is not None)
    loaded = {name for value in values for name in value.loaded}
    return loaded & {each.name for each in function.parameters[:-1]}


def _constants(function: FunctionFacts) -> Counter[float]:
    values = (store.value for store in function.stores if store.value is not None)
    parts = (part for value in values for part in value.walk())
    return Counter(each.value for each in parts if each.kind == "constant" and each.value)


def _holds(
    function: FunctionFacts,
    buffer: str,
    others: Sequence[Other],
    tolerance: float,
    symbols: Mapping[str, int],
) -> bool:
    """Say whether an edit is right of other samples, too, as far as that can be computed.

    Where integers are rounded, a sample may have no half: `half - 1` is as good there as `half`.
    """
    *read, last = function.parameters
    if last.name != buffer:
        return True
    computed = 0
    for arguments, wanted in others:
        shapes = [each.tensor.shape or () for each in read]
        if [each.shape for each in arguments] != shapes or computed > _WORK_OF_ALL:
            break
        names = (each.name for each in read)
        given = _Given(dict(zip(names, arguments, strict=True)), True, symbols)
        trial = _Trial(buffer, given, wanted.shape, wanted.scale, tolerance)
        few = np.unique(np.linspace(0, wanted.numbers.size - 1, _PLACES).astype(int))
        if not trial.gives(function, few, wanted.numbers):
            return False
        terms = 1 + trial.computed // len(few)
        places = _all_places(wanted.numbers.size, terms)
        if not all(trial.gives(function, each, wanted.numbers) for each in places):
            return False
        computed += trial.computed
    return True


def _edits(
    function: FunctionFacts, found: npt.NDArray[np.float64], wanted: KnownValue
) -> Iterator[Edit]:
    """Yield the edits of a function that gives these numbers, and should give others."""
    yield from edits(function)
    yield from solved_edits(function, _factors(found, wanted))


def _factors(found: npt.NDArray[np.float64], wanted: KnownValue) -> list[float]:
    """Return by what factor most numbers are too small, beside what a mask fills in; none if by
    several.

    Also its square and its square root: the number may stand in a root, or outside of it.
    """
    is_told = np.isfinite(wanted.numbers) & (np.abs(wanted.numbers) > _SMALL * wanted.scale)
    is_told &= np.isfinite(found) & (found != 0)
    if not is_told.any():
        return []
    factors = wanted.numbers[is_told] / found[is_told]
    factor = float(np.median(factors))
    if factor <= 0 or (np.abs(factors - factor) > _SMALL * factor).mean() > 1 / 2:
        return []
    return [factor, factor**2, factor**0.5]


def _all_places(size: int, terms: int) -> tuple[npt.NDArray[np.intp], ...]:
    """Return all places of a value; none where that takes too long.

    `terms` are those of the sum at one place.
    """
    return (np.arange(size),) if size * terms <= _WORK_OF_ALL else ()


def _binding(function: FunctionFacts, buffer: str, *, has_main: bool, is_told: bool) -> Edit | None:
    """Return what is wrong with the axes of a function whose statements are right (`is_told`).

    Of a function that `main` calls it is not seen which of its buffers is the first wrong one.
    """
    if not is_told:
        return None
    own = [block for block in function.blocks if buffer in block.stores]
    blocks = function.blocks if has_main else own
    short = short_axis(function, blocks)
    if short is not None:
        extents = str(short.found), str(short.wanted)
        where = "long" if short.found > short.wanted else ""
        return Edit(function, "short_axis", short.block, *extents, short.iterator, where=where)
    if not own or not is_name(own[-1].name) or len(blocks) > len(own):
        return None
    if any(each.iterators != _letters(each) for each in own[:-1]):
        return None
    found, wanted = own[-1].iterators, _letters(own[-1])
    told = ("", "") if found == wanted else (found, wanted)
    return Edit(function, "axis_binding", own[-1].name, *told)


def _has_idle_loop(function: FunctionFacts, buffer: str) -> bool:
    """Say whether a loop around what stores to a buffer changes nothing of what is stored where."""
    return any(
        loop.extent != 1 and loop not in store.loops
        for block in function.blocks
        for store in block.statements
        if store.buffer == buffer
        for loop in block.loops
    )


def _letters(block: Block) -> str:
    """Return how a block's axes should be declared: R for one that it only sums over.

    `T.axis.remap("RSS", ...)` in place of "SSR" is wrong in its letters, and not in its loops.
    """
    stored = {index.name for store in block.statements for index in store.index}
    names = [name for name, _ in block.extents]
    letters = zip(names, block.iterators, strict=False)
    if not any(name in stored and letter == "R" for name, letter in letters):
        return block.iterators
    return "".join("S" if name in stored else "R" for name in names)


def _is_bound_otherwise(function: FunctionFacts, buffer: str, is_own: bool) -> bool:
    """Say whether it shows that axes are bound wrongly, before any edit is tried.

    `output[vc, vf, vy, vx]` of one channel is `output[vn, vf, vy, vx]` of one image, and mends
    nothing where an axis of the output is declared as one of the sum.
    """
    if not is_own:
        return _has_idle_loop(function, buffer)
    return any(each.iterators != _letters(each) for each in function.blocks)


def _chosen(is_wrong: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return places of some numbers that are wrong, and of some that are not."""
    chosen = []
    for places, count in ((is_wrong.nonzero()[0], _PLACES), ((~is_wrong).nonzero()[0], _PLACES)):
        if len(places):
            chosen.append(places[np.unique(np.linspace(0, len(places) - 1, count).astype(int))])
    return np.concatenate(chosen)


class _Trial:
    """A buffer of a function, what the function is given, and how near its numbers must come.

    `computed` counts the terms of all sums; `is_beyond` says whether the last function that was
    computed reads what a buffer does not have.
    """

    def __init__(
        self,
        buffer: str,
        given: _Given,
        shape: tuple[int, ...],
        scale: float,
        tolerance: float,
    ) -> None:
        self._buffer, self.given, self._shape = buffer, given, shape
        self._scale, self._tolerance = scale, tolerance
        self.computed = 0
        self.is_beyond = False

    def gives(
        self,
        function: FunctionFacts,
        places: npt.NDArray[np.intp],
        goal: npt.NDArray[np.float64],
    ) -> bool:
        """Say whether a function computes these numbers, also NaN, at some places of the buffer."""
        statements = Statements(function, self.given.values, self.given.symbols)
        self.is_beyond = False
        try:
            index = np.unravel_index(places, self._shape)
            have = statements.at(self._buffer, tuple(index))
        except UnknownValueError as error:
            self.is_beyond = isinstance(error, BeyondError)
            return False
        finally:
            self.computed += statements.computed
        found = np.broadcast_to(np.asarray(have, np.float64), (len(places),))
        compared = ~(np.isnan(found) & np.isnan(goal[places]))
        wanted = KnownValue((len(places),), goal[places][compared], self._scale, False)
        return is_equal(found[compared], wanted, self._tolerance)


# --- what a function is given ---------------------------------------------------------------------


class _Given(NamedTuple):
    """What buffers may hold. `is_certain`: it is what they hold, and not what may stand for it.

    `symbols` are the extents of what is of any size.
    """

    values: dict[str, Values]
    is_certain: bool
    symbols: Mapping[str, int] = MappingProxyType({})


def _given(
    function: FunctionFacts,
    facts: ModuleFacts,
    traced: Traced,
    alignment: Alignment,
    layers: Sequence[Layer],
) -> Iterator[_Given]:
    """Yield what the buffers may hold that a function is given, the likeliest first.

    What it has stored before is what was seen, but first only what is as in PyTorch: the sums of a
    norm may be what is wrong with it, and some edit of what follows makes up for them.

    The referee does not see a module's constants: a parameter of PyTorch's of the same shape stands
    in for one. That it is the right one shows when the student's numbers come out.
    """
    wrong = alignment.wrong
    assert wrong is not None
    stored = {each.buffer for each in function.stores}
    taken = _arguments(facts, traced, wrong)
    seen = {
        step.variable: (step.value, place is not None)
        for step, place in zip(traced.steps[:wrong], alignment.matched, strict=False)
        if not facts.has_main and step.value is not None and step.variable in stored
    }
    before = {name: value for name, (value, _) in seen.items()}
    right = {name: value for name, (value, is_right) in seen.items() if is_right}
    read = [each for each in function.parameters if each.name not in stored]
    choices, is_certain = [], True
    for at, buffer in enumerate(read):
        argument = taken[at] if at < len(taken) else None
        choices.append(list(_values(buffer, at, argument, facts, traced, layers)))
        is_guessed = argument is not None and argument.kind not in ("input", "value")
        is_certain = is_certain and not (is_guessed and len(choices[-1]) > 1)
    for number, chosen in enumerate(product(*choices)):
        values = dict(zip((each.name for each in read), chosen, strict=True))
        if len(right) < len(before):
            yield _Given({**right, **values}, is_certain and number == 0)
        yield _Given({**before, **values}, is_certain and number == 0)


def _arguments(facts: ModuleFacts, traced: Traced, wrong: int) -> tuple[Argument, ...]:
    binding = traced.bindings[wrong] if wrong < len(traced.bindings) else None
    return () if binding is None else facts.calls[binding].arguments


def _values(
    buffer: BufferFacts,
    place: int,
    argument: Argument | None,
    facts: ModuleFacts,
    traced: Traced,
    layers: Sequence[Layer],
) -> Iterator[Values]:
    """Yield what one buffer may hold."""
    shape = buffer.tensor.shape or ()
    source = None if argument is None else argument.source
    if source is not None:
        steps = zip(traced.steps, traced.bindings, strict=True)
        yield from (s.value for s, at in steps if at == source and s.value is not None)
        return
    if argument is None or argument.kind == "input":
        if argument is not None:
            names = [each.name for each in facts.inputs]
            place = names.index(argument.name) if argument.name in names else place
        yield from _shaped(traced.arguments[place : place + 1], shape)
        others = (*traced.arguments[:place], *traced.arguments[place + 1 :])
        yield from _shaped(others, shape)
    parameters = [
        each.value.numpy()
        for layer in layers
        for each in layer.operation.operands
        if not each.is_running
    ]
    yield from _shaped(parameters, shape)


def _shaped(values: Sequence[Values], shape: tuple[int | str, ...]) -> Iterator[Values]:
    """Yield values of a shape, as they are, with axes of 1, or transposed."""
    for each in values:
        if _fits(each.shape, shape):
            yield each
        elif Counter(n for n in each.shape if n != 1) != Counter(n for n in shape if n != 1):
            continue
        elif each.T.shape == shape:
            yield each.T
        else:
            yield each.reshape([int(n) for n in shape])


def _fits(have: tuple[int, ...], shape: tuple[int | str, ...]) -> bool:
    return len(have) == len(shape) and all(
        isinstance(n, str) or n == m for n, m in zip(shape, have, strict=True)
    )
