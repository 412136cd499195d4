"""What each kind of part takes from the notebook: modules, functions, importers.

An importer is given a traced model and its shapes: the model comes from the course's own code,
which is run apart from the notebook.
"""

import contextlib
import copy
import functools
import inspect
import linecache
import tokenize
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any, Protocol

from grader.inside.kernel.entry_points import EntryPoints, Supply, bind, required, single
from grader.inside.kernel.externs import ExternRegistry
from grader.inside.kernel.faults import Faults
from grader.inside.kernel.modules import (
    BoundModules,
    ScheduleLedger,
    SeenSchedule,
    Snapshot,
    is_schedule,
    module_of,
    module_within,
)
from grader.inside.kernel.objects import (
    Fingerprint,
    Namespace,
    fingerprint,
    has_wildcard,
    is_notebook_callable,
    is_notebook_scope,
    rank_of,
    ranked,
    type_name,
)
from grader.inside.kernel.sender import Sender, SentModule
from grader.messages.kernel import SOURCE_LIMIT, EntrySpec, ModelSpec

LOCAL_NAME = "a local schedule"
"""What a schedule is called that no public name is bound to."""

LOCAL_LIMIT = 8
"""Schedules without a name that are taken at the end of one cell, the newest."""


class WatchedPart(Protocol):
    """What looks for the candidates of one part."""

    def sweep(self, values: Namespace) -> None:
        """Look through the notebook's public names at the end of a cell."""
        ...


class FunctionPart:
    """A part whose entry point is a function; any module in the notebook may be it, too.

    The referee takes one under another name only where none of those that were asked for will do.
    """

    def __init__(
        self, spec: EntrySpec, entries: EntryPoints, sender: Sender, faults: Faults
    ) -> None:
        self._spec = spec
        self._entries = entries
        self._sender = sender
        self._faults = faults
        self._modules = BoundModules(functools.partial(module_of, holds=spec.holds))

    def sweep(self, values: Namespace) -> None:
        """Call what is due; then take all modules."""
        self._entries.sweep(values)
        self._offer(self._modules.news(values))

    def _offer(self, modules: dict[str, Snapshot], *, by_name: bool | None = None) -> None:
        """Send modules; whether they have a name that was asked for is told by it, or is given."""
        for name, module in modules.items():
            is_asked = self._is_asked(name) if by_name is None else by_name
            with self._faults.shielded():
                self._sender.offer(SentModule(self._spec.part, name, is_asked, module))

    def _is_asked(self, name: str) -> bool:
        return rank_of(name, self._spec.names) is not None


class ModulePart(FunctionPart):
    """A part whose answer is bound to a name; any module may be it, too.

    The lecture's introduction may use the name for an example: the referee looks at the others
    where what bears the name will not do.
    """

    def __init__(
        self, spec: EntrySpec, entries: EntryPoints, sender: Sender, faults: Faults
    ) -> None:
        super().__init__(spec, entries, sender, faults)
        self._unwrap = functools.partial(module_within, holds=spec.holds)
        self._asked = BoundModules(self._unwrap)
        self._other: object = self

    def sweep(self, values: Namespace) -> None:
        """Take the modules with a name that was asked for, call such functions, then the rest."""
        asked = {name: values[name] for name in ranked(values, self._spec.names)}
        self._offer(self._asked.news(asked), by_name=True)
        self._entries.sweep(values)
        self._offer(self._modules.news(values), by_name=False)
        with self._faults.shielded():
            self._tell_other(self._spec.names[0], values)

    def _tell_other(self, name: str, values: Namespace) -> None:
        """Say once what has the name that was asked for, if that is no module and not called."""
        value = values.get(name, self._other)
        if value is self._other or self._entries.present({name: value}):
            return
        self._other = value
        if self._unwrap(value) is None:
            self._sender.fail_here(self._spec.part, name, "other_type", type_name(value))


class SchedulePart(FunctionPart):
    """A part whose answer is a Schedule, or a module that was scheduled or put together by hand.

    `makers` are called as long as the notebook has no Schedule under a name that was asked for: it
    may have written `def schedule_conv(mod)` and never called it.
    """

    def __init__(
        self,
        spec: EntrySpec,
        entries: EntryPoints,
        makers: EntryPoints,
        sender: Sender,
        ledger: ScheduleLedger,
        faults: Faults,
    ) -> None:
        super().__init__(spec, entries, sender, faults)
        self._makers = makers
        self._ledger = ledger
        self._states: dict[int, tuple[SeenSchedule, Snapshot]] = {}

    def sweep(self, values: Namespace) -> None:
        """Take the schedules, those with a name last, then what functions return, then modules."""
        names = self._name_schedules(values)
        news = [(known, names.get(known.schedule.__chandle__())) for known in self._news()]
        for known, _ in [pair for pair in news if pair[1] is None][-LOCAL_LIMIT:]:
            with self._faults.shielded():
                self._offer_schedule(known, None)
        for known, name in news:
            if name is not None:
                with self._faults.shielded():
                    self._offer_schedule(known, name)
        self._entries.sweep(values)
        if not any(map(self._is_asked, names.values())):
            self._makers.sweep(values)
        self._offer(self._modules.news(values))

    def _name_schedules(self, values: Namespace) -> dict[int, str]:
        """Return the best public name of each Schedule that has one, by TVM's identity of it."""
        holds = self._spec.holds
        schedules = [name for name, value in values.items() if is_schedule(value, holds)]
        asked = ranked(schedules, self._spec.names)
        names: dict[int, str] = {}
        for name in [*asked, *(name for name in schedules if name not in asked)]:
            names.setdefault(self._ledger.find(values[name]).schedule.__chandle__(), name)
        return names

    def _news(self) -> list[SeenSchedule]:
        states: dict[int, tuple[SeenSchedule, Snapshot]] = {}
        fresh: list[SeenSchedule] = []
        for known in self._ledger.all(self._spec.holds):
            seen = self._states.get(id(known))
            if seen is None or not seen[1].is_current(known.schedule.mod):
                seen = (known, Snapshot(known.schedule.mod))
                fresh.append(known)
            states[id(known)] = seen
        self._states = states
        return fresh

    def _offer_schedule(self, known: SeenSchedule, name: str | None) -> None:
        self._sender.offer(
            SentModule(
                part=self._spec.part,
                name=name or LOCAL_NAME,
                by_name=name is not None and self._is_asked(name),
                module=self._states[id(known)][1],
                base=known.base,
                trace=known.trace(),
                lines=self._sender.lines(known),
            )
        )


def exact_names(spec: EntrySpec) -> tuple[str, ...]:
    """Return the patterns of a part that match one name only."""
    return tuple(name for name in spec.names if not has_wildcard(name))


class PythonPart:
    """The functions whose names match a part's patterns, as they are at the end of a cell."""

    def __init__(
        self,
        spec: EntrySpec,
        shell: Any,
        sender: Sender,
        registry: ExternRegistry,
        faults: Faults,
    ) -> None:
        self._spec = spec
        self._shell = shell
        self._sender = sender
        self._registry = registry
        self._faults = faults
        self._seen: dict[str, Fingerprint] = {}

    def sweep(self, values: Namespace) -> None:
        """Take the functions that changed, or what they depend on, exact names first."""
        for name in ranked(values, self._spec.names):
            origin = self._registry.origin(values[name])
            function = values[name] if origin is None else origin
            if is_notebook_callable(function, self._shell.user_ns, self._sender.folders):
                with self._faults.shielded():
                    self._consider(name, function)

    def _consider(self, name: str, function: object) -> None:
        namespace: Namespace = self._shell.user_ns
        now = fingerprint(function, (), namespace, self._sender.folders)
        seen = self._seen.get(name)
        if seen is None or now.tokens != seen.tokens:
            self._seen[name] = now
            source = source_of(now.kept, namespace, self._sender.folders)
            self._sender.offer_function(self._spec.part, name, function, source)


def source_of(objects: Iterable[object], namespace: Namespace, folders: tuple[str, ...]) -> str:
    """Return the texts of those objects that are functions of the notebook, in their order.

    IPython keeps the text of every cell that it has run in Python's cache of lines. The result has
    at most SOURCE_LIMIT characters and can be encoded.
    """
    texts: dict[str, None] = {}
    for each in objects:
        if type(each) is FunctionType and is_notebook_scope(each.__globals__, namespace, folders):
            texts[_text_of(each)] = None
    return "\n".join(text for text in texts if text)[:SOURCE_LIMIT]


def _text_of(function: FunctionType) -> str:
    """Return the lines of a definition with its decorators; "" where nobody keeps them.

    What cannot be encoded becomes "?": from Python 3.12 on the tokenizer raises an error for it.
    """
    code = function.__code__
    kept = linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :]
    lines = [line.encode("utf-8", "replace").decode() for line in kept]
    try:
        return "".join(inspect.getblock(lines))
    except (SyntaxError, tokenize.TokenError):
        return ""


_SHAPE = "shape"


class ModelError(Exception):
    """Raised when the course's code gives no model that can be traced: that is our fault."""


class TracedModel:
    """The model of one part, made when it is first asked for.

    `quiet` is what keeps the notebook from noticing anything of it.
    """

    def __init__(
        self, spec: ModelSpec, quiet: Callable[[], contextlib.AbstractContextManager[None]]
    ) -> None:
        self.shapes = [tuple(shape) for shape in spec.shapes]
        self._spec = spec
        self._quiet = quiet
        self._module: Any = None
        self._failed = False

    def make(self) -> bool:
        """Make the model unless it is there. Raises ModelError once; then it returns False."""
        if self._module is None and not self._failed:
            try:
                with self._quiet():
                    self._module = _trace(self._spec)
            except Exception as error:
                self._failed = True
                raise ModelError(
                    f"the course's model {self._spec.name!r} cannot be made"
                ) from error
        return not self._failed

    def copy(self) -> Any:
        """Return a torch.fx.GraphModule of the caller's own."""
        return copy.deepcopy(self._module)


class ImporterPart:
    """A part whose answer is what an importer makes of one model."""

    def __init__(self, model: TracedModel, entries: EntryPoints) -> None:
        self._model = model
        self._entries = entries

    def sweep(self, values: Namespace) -> None:
        """Call the importers that are due. Raises ModelError the first time it has no model."""
        if self._entries.present(values) and self._model.make():
            self._entries.sweep(values)


class ImporterSupply(Supply):
    """Gives an importer the traced model and the list of its inputs' shapes.

    The model is the first parameter, the shapes are the one with "shape" in its name or else the
    second; what else has no default is taken from the notebook. A function with one parameter
    gets the model alone.
    """

    def __init__(self, model: TracedModel) -> None:
        self._model = model

    def needed(self, signature: inspect.Signature) -> tuple[str, ...]:
        """Return the names of the notebook that a call takes values from."""
        given = _given(signature)
        return tuple(name for name in required(signature) if name not in given)

    def bind(self, signature: inspect.Signature, namespace: Namespace) -> inspect.BoundArguments:
        """Return the arguments of one call, with a model and shapes that it may spoil."""
        supplied = [self._model.copy(), list(self._model.shapes)]
        given = _given(signature)
        if not given:
            return signature.bind(*supplied)
        values = dict(zip(given, supplied, strict=False))
        return bind(signature, values | {name: namespace[name] for name in self.needed(signature)})


def _given(signature: inspect.Signature) -> tuple[str, ...]:
    """Return the parameters for the model and, if there is one, for the shapes."""
    names, needed = single(signature), required(signature)
    if not names:
        return ()
    model = (needed or names)[0]
    others = [name for name in names if name != model]
    shaped = [name for name in others if _SHAPE in name.lower()]
    second = [name for name in (needed or others) if name != model]
    return (model, *(shaped or second)[:1])


def _trace(spec: ModelSpec) -> Any:
    """Run the course's code in its own namespace, and trace the model.

    What the notebook has set as PyTorch's defaults does not hold here.
    """
    import torch
    import torch.fx

    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("cpu"):
            namespace: Namespace = {"__name__": "models"}
            exec(compile(spec.code, "models.py", "exec", dont_inherit=True), namespace)  # noqa: S102
            model = namespace["MODELS"][spec.name](spec.seed).eval()
            return copy.deepcopy(torch.fx.symbolic_trace(model))
    finally:
        torch.set_default_dtype(default)
