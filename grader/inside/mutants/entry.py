"""The mutants' process: a runner's, which makes mutants of a module and sees which matter.

A mutant whose outputs are those of the module itself has no mistake: a bias of zeros that is
dropped, two layers that may be done in either order. It is not returned.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, get_args

import msgspec
import numpy as np
import numpy.typing as npt
import tvm

from grader.inside.common.failure import TaskError, answering_for_errors, stage
from grader.inside.common.modules import functions_of, load_module, with_function
from grader.inside.mutants import relax, tensorir
from grader.inside.runner.entry import run
from grader.inside.runner.evaluation import Evaluator, Given
from grader.inside.runner.model import run_module
from grader.messages.frames import unpack_array
from grader.messages.runner import (
    FromRunner,
    MutatedModule,
    MutateModule,
    Mutation,
    MutationKind,
    MutationResult,
    RunModule,
    TaskFailure,
    ToRunner,
    Unmutated,
)

EQUAL = 2e-6
"""Outputs that differ by less, relative to the largest, are equal: sums may be added up in another
order. float32 has about 1.2e-7, float16 1e-3."""

TRIED = 12
"""Most mutants of one kind that are run."""

_NOTHING: dict[MutationKind, str] = {
    "drop_bias": "nothing is added that has fewer axes",
    "flip_kernel": "there is no kernel of four axes",
    "swap_layers": "no two layers in a row have the same shape",
    "off_by_one": "there is no loop that only a reduction goes along",
    "float16": "nothing is computed in float32",
    "narrow": "nothing is computed in integers of 32 bits or more",
    "return_zeros": "there is no result of a known shape",
    "return_input": "there is no input and result of known shapes",
}

Module = Any


class _LoadedOnce(Evaluator):
    """An evaluator for several runs of modules whose external functions are the same."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._inner = evaluator
        self._has_loaded = False

    def load(self, pickles: Mapping[str, bytes]) -> None:
        """Have the functions loaded, unless they were. Raises TaskError."""
        if not self._has_loaded:
            self._inner.load(pickles)
        self._has_loaded = True

    def evaluate(self, name: str, arguments: Sequence[Given]) -> None:
        """Call a function, as `Evaluator.evaluate` does."""
        self._inner.evaluate(name, arguments)


class _Subject(NamedTuple):
    """A module, its Relax `main` if that is what is run, and otherwise the TIR function."""

    module: Module
    main: Any | None
    function: str


class _Site(NamedTuple):
    mutation: Mutation
    make: Any


def mutate_module(task: MutateModule, evaluator: Evaluator | None = None) -> MutationResult:
    """Do the task. Raises TaskError where the module itself cannot be loaded or run."""
    evaluator = None if evaluator is None else _LoadedOnce(evaluator)
    with stage("load"):
        module = load_module(task.run.module)
    name = task.run.function
    subject = _Subject(module, relax.main_of(module) if name == "main" else None, name)
    desired = _outputs(task.run, evaluator)
    mutants: list[MutatedModule] = []
    inapplicable: list[Unmutated] = []
    for kind in get_args(MutationKind):
        sites = _spread(list(_sites(subject, kind)))
        found = list(_differing(task, sites, desired, evaluator))
        mutants += found
        if not found:
            reason = "the outputs stay the same" if sites else _NOTHING[kind]
            inapplicable.append(Unmutated(kind, reason))
    return MutationResult(tuple(mutants), tuple(inapplicable))


def _differing(
    task: MutateModule,
    sites: list[_Site],
    desired: npt.NDArray[np.generic],
    evaluator: Evaluator | None,
) -> Iterator[MutatedModule]:
    """Return as many mutants as are asked for, of those whose outputs are other ones."""
    found = 0
    for site in sites[:TRIED]:
        if found == task.limit:
            return
        document = tvm.ir.save_json(site.make()).encode()
        run = msgspec.structs.replace(task.run, module=document)
        difference = _difference(run, desired, evaluator)
        if difference > 0:
            found += 1
            yield MutatedModule(site.mutation, document, difference)


def _difference(
    run: RunModule, desired: npt.NDArray[np.generic], evaluator: Evaluator | None
) -> float:
    """Return how far the outputs are from the module's own; 0 where rounding explains it."""
    try:
        actual = _outputs(run, evaluator)
    except TaskError:
        return float("inf")
    if actual.shape != desired.shape or actual.dtype != desired.dtype:
        return float("inf")
    with np.errstate(invalid="ignore"):  # bfloat16 tells of signalling NaN
        if not np.isfinite(actual).all():
            return float("inf")
    worst = float(np.abs(actual.astype(float) - desired.astype(float)).max(initial=0.0))
    scale = float(np.abs(desired.astype(float)).max(initial=0.0))
    return worst if worst > EQUAL * scale else 0.0


def _outputs(run: RunModule, evaluator: Evaluator | None) -> npt.NDArray[np.generic]:
    return unpack_array(run_module(run, evaluator).outputs)


def _spread(sites: list[_Site]) -> list[_Site]:
    """Put the first site of every function first, then every second one, and so on."""
    seen: dict[str, int] = {}
    ranks = []
    for site in sites:
        place = f"{site.mutation.function}\n{site.mutation.binding}"
        ranks.append(seen.get(place, 0))
        seen[place] = ranks[-1] + 1
    order = sorted(range(len(sites)), key=lambda index: ranks[index])
    return [sites[index] for index in order]


def _sites(subject: _Subject, kind: MutationKind) -> Iterator[_Site]:
    """Return what can be changed in a module in this way, in the order of its calls."""
    if kind == "float16":
        yield from _half_precision(subject)
        return
    in_main = _IN_MAIN.get(kind) if subject.main is not None else None
    of_main = [] if in_main is None else list(in_main(subject.module))
    for change in of_main:
        yield _Site(Mutation(kind, change.function, change.binding, change.about), change.make)
    if of_main:
        return
    if kind in _IN_FUNCTIONS:
        yield from _in_functions(subject, kind, _IN_FUNCTIONS[kind])
    elif subject.main is None:
        yield from _other_functions(subject, kind)


_IN_MAIN: Mapping[MutationKind, Callable[[Module], Iterator[relax.BindingMutation]]] = {
    "drop_bias": relax.drop_bias,
    "flip_kernel": relax.flip_kernel,
    "swap_layers": relax.swap_layers,
    "return_zeros": partial(relax.other_result, kind="zeros"),
    "return_input": partial(relax.other_result, kind="input"),
}
_IN_FUNCTIONS: Mapping[MutationKind, Any] = {
    "drop_bias": tensorir.drop_addend,
    "flip_kernel": tensorir.flip_window,
    "off_by_one": tensorir.off_by_one,
    "narrow": tensorir.narrow,
}
"""Changes of TIR functions. Biases and kernels are changed there only where `main` has none."""


def _other_functions(subject: _Subject, kind: MutationKind) -> Iterator[_Site]:
    """Return functions of a module of TensorIR alone that write something else."""
    if kind in ("return_zeros", "return_input"):
        change = tensorir.zeros if kind == "return_zeros" else tensorir.echo
        about = "zeros are written" if kind == "return_zeros" else "the first argument is written"
        for name, function in _functions(subject):
            changed = change(function)
            if changed is not None:
                make = partial(with_function, subject.module, name, changed)
                yield _Site(Mutation(kind, name, "", about), make)


def _in_functions(subject: _Subject, kind: MutationKind, changes: Any) -> Iterator[_Site]:
    for name, function in _functions(subject):
        for about, make in changes(function):
            mutation = Mutation(kind, name, _first_call(subject, name), f"in {name}, {about}")
            yield _Site(mutation, lambda n=name, m=make: with_function(subject.module, n, m()))


def _half_precision(subject: _Subject) -> Iterator[_Site]:
    changed = {}
    for name, function in _functions(subject):
        rounded = tensorir.half_precision(function)
        if rounded is not None:
            changed[name] = rounded
    operators = None if subject.main is None else relax.half_precision(subject.module)
    if not changed and operators is None:
        return
    binding = _first_rounded(subject, set(changed))

    def make() -> Module:
        result = subject.module if operators is None else operators
        for name, function in changed.items():
            result = with_function(result, name, function)
        return result

    about = "everything is rounded to float16"
    yield _Site(Mutation("float16", "", binding, about), make)


def _first_rounded(subject: _Subject, functions: set[str]) -> str:
    """Return the first call of `main` whose value is rounded: an external function's is not."""
    for binding in [] if subject.main is None else relax.calls_of(subject.main):
        name = relax.callee_of(binding.value)
        if relax.is_rounded(binding) or name in functions:
            return str(binding.var.name)
    return ""


def _functions(subject: _Subject) -> list[tuple[str, Any]]:
    """Return the TIR functions that are run, in the order of their first calls."""
    order = [subject.function]
    if subject.main is not None:
        order = [relax.callee_of(binding.value) for binding in relax.calls_of(subject.main)]
    known = functions_of(subject.module)
    found = ((name, known.get(name)) for name in dict.fromkeys(order))
    return [pair for pair in found if isinstance(pair[1], tvm.tirx.PrimFunc)]


def _first_call(subject: _Subject, function: str) -> str:
    for binding in [] if subject.main is None else relax.calls_of(subject.main):
        if relax.callee_of(binding.value) == function:
            return str(binding.var.name)
    return ""


def main(arguments: list[str]) -> None:
    """Serve tasks on a socket, with the `arguments` of a runner."""
    run(arguments, perform)


def perform(task: ToRunner, evaluator: Evaluator | None = None) -> FromRunner:
    """Make mutants; whatever goes wrong becomes a TaskFailure, and so does any other task."""
    if not isinstance(task, MutateModule):
        return TaskFailure("run", "NotHere", "This kind of runner only makes mutants.")
    return answering_for_errors(lambda: mutate_module(task, evaluator))
