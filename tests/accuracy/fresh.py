"""What is said of mistakes that nobody chose: random edits of solved notebooks, run and explained.

Each edit is a cell at the end of the notebook, which does once more what the part needs. Those that
change the result are explained as submissions are, and what is said is held against the notebook
without the edit: the first step that gives another value than there is the wrong one. An advice
that names a change is applied: to PyTorch, which gives the submission's outputs with the mistake,
or to the statement that it names, with which the submission's outputs are right.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice, product
from typing import Any, NamedTuple

import msgspec
import nbformat
import numpy as np

from grader.assignment import PartTable
from grader.authoring.subject import Notebooks, bound_names
from grader.course import load_course
from grader.diagnosis.align import _LEFT_OUT
from grader.diagnosis.explain import explain_case
from grader.diagnosis.layers import Change, Program, is_equal, known, numbers
from grader.diagnosis.matching import Observed
from grader.diagnosis.mistakes import LikelyMistake, last_output
from grader.diagnosis.report import Diagnosed, Look, choose_rows, look
from grader.diagnosis.tracing import gather_trace
from grader.evidence.candidates import gather_outputs, inspect
from grader.evidence.case import Candidate, Case, Evidence, Problem
from grader.evidence.operations import one_thread
from grader.evidence.problems import wrong_samples
from grader.grading.pipeline import run_notebook
from grader.grading.preparation import Preparation, Settings
from grader.messages.kernel import Capture
from grader.progress import Silent
from grader.report import Diagnosis
from grader.sandbox.interface import Sandbox
from tests.accuracy.accuracy import ROOT, SAMPLES, SEED, Runners, _of
from tests.accuracy.applied import STATEMENTS, applied, done_behind, taken_in_place_of
from tests.accuracy.edits import Edit, edits
from tests.diagnosis.test_advice import AT_SIGHT, changes, is_same, is_told, values_of

SLUGS = ("e2e-conv", "e2e-mlp", "tensorir", "from-torch", "quantized", "graph-passes", "gpu")

VAGUE = frozenset({"", "partly_right", "other_operand"})
"""Mistakes that say where to look, and not what is wrong."""

_WHICH = {"wanted_step", "wanted", "wanted_argument"}
"""Facts that name what should be taken."""

_NOTHING = 1e-4
"""A number minus itself may differ from 0 by so much, because values are rounded."""

_COPIES = 4
"""Functions that are made of one Python function, and mended one after the other."""

_WAYS = 64
"""Most ways in which a change is made in later layers as well."""

_AT_ONCE = 4
"""Edits of each part in one run of the notebook."""

_BESIDE = frozenset({*_LEFT_OUT, "order_swapped", "other_step_returned", "outputs_swapped"})
"""Mistakes of which the step before the first wrong value may be named: it lacks what follows."""


Drawn = Sequence[tuple[PartTable, Candidate, Edit]]
"""Edits of parts, each with the right candidate."""


class Fresh(NamedTuple):
    """An edit of a part that runs, and the candidates with and without it."""

    part: PartTable
    edit: Edit
    candidate: Candidate
    right: Candidate


class Said(NamedTuple):
    """What is said of an edit, and whether it holds.

    `first` is whether the first wrong step is named, `advice` whether the change that is advised
    leads to the right outputs; each is None where that cannot be judged, or none is advised.
    `wrong` are sentences that do not hold, and why. `says_which`: of a step that takes another
    value, both are named.
    """

    fresh: Fresh
    diagnosis: Diagnosis | None
    first: bool | None
    advice: bool | None
    wrong: tuple[str, ...] = ()
    says_which: bool = False

    @property
    def is_named(self) -> bool:
        """Say whether it is told what is wrong, and not only where."""
        return self.diagnosis is not None and (
            self.says_which or self.diagnosis.mistake not in VAGUE
        )

    def __str__(self) -> str:
        edit, found = self.fresh.edit, self.diagnosis
        told = (
            "nothing"
            if found is None
            else f"[{found.mistake}] {found.message.english} {found.advice.english}"
        )
        marks = [*self.wrong]
        marks += ["another step"] * (self.first is False) + ["advice"] * (self.advice is False)
        return f"{self.fresh.part.id}, {edit.about}: {told} ({'; '.join(marks) or 'unnamed'})"


class Judgement(msgspec.Struct, frozen=True):
    """What `Said` comes to, as a journal keeps it; `text` is how it is printed."""

    first: bool | None
    advice: bool | None
    is_named: bool
    wrong: tuple[str, ...]
    text: str

    @property
    def is_bad(self) -> bool:
        """Say whether something is wrong, or missing."""
        return bool(self.wrong) or self.first is False or self.advice is False or not self.is_named


Once = Callable[[Any, Callable[[], Any]], Any]
"""`Journal.once`: returns what was measured before, or else measures it and writes it down."""


def judgement(said: Any) -> Judgement:
    """Return what is kept of a `Said`, or of what another trial says."""
    return Judgement(said.first, said.advice, said.is_named, said.wrong, str(said))


class FreshTrial:
    """Random edits of an assignment's reference: `count` that change the result, or fewer."""

    def __init__(self, slug: str, sandbox: Sandbox, jobs: int, count: int, seed: int) -> None:
        self.chosen = load_course(ROOT).get(slug)
        self.prepared = Preparation(self.chosen, Settings(sandbox, seed=SEED))
        self.jobs, self.count = jobs, count
        self._generator = random.Random(f"{slug} {seed}")
        self._notebooks = Notebooks(ROOT, self.chosen)

    def judged(self, once: Once) -> list[Judgement]:
        """Return what is said of the edits that change the result, a run of the notebook at once.

        What `once` knows is not run again; the same edits are drawn for it.
        """
        found: list[Judgement] = []
        with Runners(self.prepared) as runners, ThreadPoolExecutor(self.jobs) as executor:
            for drawn in self._drawn():
                made = partial(self._judge, drawn, runners, executor)
                found += once(list[Judgement], made)
                if len(found) >= self.count:
                    return found[: self.count]
        return found

    def _judge(self, drawn: Drawn, runners: Any, executor: ThreadPoolExecutor) -> list[Judgement]:
        told = executor.map(lambda each: self.told(each, runners), self._run(drawn))
        return [judgement(each) for each in told if each is not None]

    edited = staticmethod(edits)

    def _drawn(self) -> Iterator[Drawn]:
        """Yield edits, a run of the notebook at a time."""
        reference = self._notebooks.reference
        right = self._right(run_notebook(copy.deepcopy(reference), self.prepared, Silent()))
        sources = [c.source for c in reference.cells if c.cell_type == "code" and c.source.strip()]
        written = {part.id: self.written(sources, one.capture.cell) for part, one in right}
        endless = {part.id: self.edited(written[part.id], self._generator) for part, _ in right}
        while endless:
            drawn = []
            for part, one in right * _AT_ONCE:
                edit = next(endless.get(part.id, iter(())), None)
                if edit is None:
                    endless.pop(part.id, None)
                else:
                    drawn.append((part, one, edit))
            yield drawn

    def _right(self, execution: Any) -> list[tuple[PartTable, Candidate]]:
        """Return the reference's own candidate of each part."""
        captures = execution.captures
        found = []
        for part in self.chosen.assignment.part:
            own = [] if part.entry_kind == "space" else _of(part, captures)
            found += [(part, each) for each in own[-1:]]
        return found

    def written(self, sources: Sequence[str], cell: int) -> str:
        """Return the text of a cell, behind those of the solution's cells that it needs."""
        given = {each.source for each in self._notebooks.template.cells}
        own = [each for each in sources[:cell] if each not in given and _tree(each) is not None]
        needed, waiting = list[str](), {*_names(sources[cell - 1])}
        for source in reversed(own):
            if source == sources[cell - 1] or bound_names(source) & waiting:
                needed.insert(0, source)
                waiting |= _names(source)
        return "\n\n".join(needed)

    def _run(self, drawn: Drawn) -> list[Fresh]:
        notebook = copy.deepcopy(self._notebooks.reference)
        before = sum(c.cell_type == "code" and bool(c.source.strip()) for c in notebook.cells)
        notebook.cells += [nbformat.v4.new_code_cell(edit.source) for _, _, edit in drawn]
        captures = run_notebook(notebook, self.prepared, Silent()).captures
        found = []
        for number, (part, right, edit) in enumerate(drawn, start=before + 1):
            own = [e for e in captures if isinstance(e, Capture) and e.cell == number]
            found += [Fresh(part, edit, each, right) for each in _of(part, own)[-1:]]
        return found

    def told(self, fresh: Fresh, runners: Any) -> Said | None:
        """Return what is said of an edit; None where its outputs are right, or there are none."""
        oracle = self.prepared.answers(self.prepared.data(Silent())).result().of(fresh.part)
        part = msgspec.structs.replace(fresh.part, samples=SAMPLES)
        comparison = self.chosen.assignment.comparison(part)
        outputs = gather_outputs(fresh.candidate, part, oracle, runners, comparison)
        if isinstance(outputs, Problem) or not wrong_samples(outputs, comparison).any():
            return None
        oracle = oracle.groups[outputs.group]
        candidate = fresh.candidate.taking(oracle.shapes(part))
        diagnosed = Diagnosed(candidate, part, self.chosen.assignment, oracle)
        case = Case(candidate, Evidence(outputs=outputs), comparison)
        evidence = explain_case(case, diagnosed, runners).evidence
        found = look(diagnosed, outputs, runners)
        told = evidence.diagnosis
        if evidence.schedule is not None or found is None or told is None:
            return Said(fresh, told, None, None)
        rows = choose_rows(outputs, diagnosed)
        right = diagnosed._replace(candidate=fresh.right.taking(oracle.shapes(part)))
        values = _values(right, found.traced.rows or rows, runners)
        return _judged(diagnosed, fresh, told, found, values, runners)


def _values(diagnosed: Diagnosed, rows: Sequence[int], runners: Any) -> dict[str, Any]:
    """Return the values of a right candidate's steps on the same samples, by their variables."""
    traced = gather_trace(diagnosed.candidate, diagnosed.part, diagnosed.oracle, runners, rows)
    if isinstance(traced, Problem):
        return {}
    return {each.variable: each.value for each in traced.steps if each.value is not None}


def _judged(
    diagnosed: Diagnosed,
    fresh: Fresh,
    told: Diagnosis,
    found: Look,
    right: dict[str, Any],
    runners: Any,
) -> Said:
    steps, alignment = found.traced.steps, found.alignment
    wrong, mistake = _first_wrong(found, right), alignment.mistake
    first = None
    if wrong is not None:
        is_beside = told.mistake in _BESIDE and told.wrong < wrong
        is_read = mistake is not None and mistake.facts.get("buffer") == steps[wrong].variable
        first = told.wrong == wrong or is_beside or is_read
    advice = None
    if mistake is not None:
        is_statement = mistake.kind in STATEMENTS
        callee = steps[told.wrong].callee
        advice = (
            _mends(mistake, callee, diagnosed, runners) if is_statement else _leads(mistake, found)
        )
        if advice is False:
            advice = _leads_on(told.wrong, mistake, found, diagnosed, runners)
    said, message = [], told.message.english
    if "the shape is" in message and _has_right_shape(steps[told.wrong], right):
        said.append("the shape is right")
    if wrong is not None and told.wrong > wrong and "Up to" in message:
        said.append("what comes before is not right")
    names = set() if mistake is None else _WHICH & {*mistake.facts}
    says_which = mistake is not None and any(mistake.facts[each] for each in names)
    return Said(fresh, told, first, advice, tuple(said), says_which)


def _has_right_shape(step: Observed, right: dict[str, Any]) -> bool:
    wanted = right.get(step.variable)
    return wanted is not None and step.value is not None and wanted.shape == step.value.shape


def _first_wrong(found: Look, right: dict[str, Any]) -> int | None:
    """Return the first step whose value no step of the right module has, and no layer of PyTorch's.

    None without any. A pass that rewrites too little leaves what PyTorch computes. Where both have
    the same steps, each is held against its own: one that is computed twice is a wrong one.
    """
    if [each.variable for each in found.traced.steps] == [*right]:
        pairs = [(step.value, right[step.variable]) for step in found.traced.steps]
        differs = [
            at for at, (one, own) in enumerate(pairs) if one is None or not _is_same(one, own)
        ]
        return next((at for at in differs if not _is_made_good(at, differs, found)), None)
    layers = [each.value for each in found.layers if each.name]
    for place, step in enumerate(found.traced.steps):
        if step.value is None:
            return place
        if not any(_is_same(step.value, each) for each in (*right.values(), *layers)):
            return place
    return None


def _is_made_good(step: int, differs: Sequence[int], found: Look) -> bool:
    """Say whether a step has a layer's value, and all that takes it is right: a ReLU too early."""
    takers = [at for at, each in enumerate(found.traced.steps) if step in each.takes]
    is_layer = found.alignment.matched[step] is not None
    return is_layer and bool(takers) and not any(each in differs for each in takers)


def _is_same(found: Any, wanted: Any) -> bool:
    return np.array_equal(found, wanted) or is_equal(numbers(found), known(wanted))


def _leads(mistake: LikelyMistake, found: Look) -> bool | None:
    """Say whether the mistake that is told gives what was returned; None where it is no change."""
    if mistake.kind in AT_SIGHT or mistake.kind in VAGUE:
        return None
    actual = found.traced.steps[-1].value
    with one_thread():
        program = Program(found.layers)
        last = last_output(program)
        every = changes(program)
        alike = [each for each in every if is_told(each, mistake, program)]
        if not alike or last is None or actual is None:
            return None
        outputs = (
            values_of(one, program).get(last)
            for each in alike
            for one in (*_everywhere(each, every), _by_a_pass(each, program))
        )
        return any(each is not None and _is_given(each, actual) for each in outputs)


def _is_given(found: Any, actual: Any) -> bool:
    """Say whether a change gives what was returned: also where that is 0, but for rounding."""
    rest = np.abs(numbers(found)).max(initial=0.0) + np.abs(numbers(actual)).max(initial=0.0)
    return is_same(found, actual) or bool(found.size == actual.size and rest < _NOTHING)


def _everywhere(one: Change, every: Sequence[Change]) -> Iterator[Change]:
    """Yield a change, and the same in some of the later layers or all, as by a function for them.

    Of `x * s` and then `s * x`, what doubles `x` is another change of each. A pass leaves layers
    that its pattern does not match.
    """
    yield one
    later: dict[int, list[Change | None]] = {}
    for each in every:
        if (each.kind, each.facts) == (one.kind, one.facts) and each.place > max(one.computes):
            later.setdefault(each.place, [None]).insert(0, each)
    for chosen in islice(product(*later.values()), _WAYS):
        yield _joined(one, *(each for each in chosen if each is not None))


def _joined(*changes: Change) -> Change:
    computes = {place: made for each in changes for place, made in each.computes.items()}
    return changes[0]._replace(computes=computes)


def _by_a_pass(one: Change, program: Program) -> Change:
    """Return an activation made another one in all later layers, also within those of its kind."""
    computes = dict(one.computes)
    for at, layer in enumerate(program.layers):
        if (
            at > one.place
            and layer.name == one.facts.get("wanted") == program.layers[one.place].name
        ):
            computes[at] = one.computes[one.place]
    return one._replace(computes=computes)


def _mends(mistake: LikelyMistake, callee: str, diagnosed: Diagnosed, runners: Any) -> bool | None:
    """Say whether the candidate's outputs are right with a statement changed as is advised.

    Where a schedule has left no such statement, it is changed in what was scheduled; None where it
    stands in neither.
    """
    capture = diagnosed.candidate.capture
    for module in (capture.module, capture.base):
        changed = None if module is None else applied(module, callee, mistake)
        if changed is not None:
            mended = msgspec.structs.replace(capture, module=changed, base=None, trace=None)
            return _is_right(mended, diagnosed, runners) or _is_next(
                mended, callee, mistake.kind, diagnosed, runners
            )
    return None


def _is_next(mended: Capture, callee: str, kind: str, diagnosed: Diagnosed, runners: Any) -> bool:
    """Say whether the same advice about other copies of a function leads to the right outputs.

    `emit_te` makes `te_matmul` and `te_matmul1` of one Python function, which is edited once.
    """
    for _ in range(_COPIES):
        found = _look(mended, diagnosed, runners)
        mistake = None if found is None else found.alignment.mistake
        if found is None or mistake is None or found.alignment.wrong is None:
            return False
        other = found.traced.steps[found.alignment.wrong].callee
        is_copy = other != callee and other.rstrip("0123456789") == callee.rstrip("0123456789")
        changed = applied(mended.module, other, mistake) if is_copy else None
        if changed is None or mistake.kind != kind:
            return False
        mended = msgspec.structs.replace(mended, module=changed)
        if _is_right(mended, diagnosed, runners):
            return True
    return False


def _leads_on(
    wrong: int, mistake: LikelyMistake, found: Look, diagnosed: Diagnosed, runners: Any
) -> bool | None:
    """Say whether all is right up to a later step, once the module's steps are as is advised.

    None where a function is made for another shape: `emit_te` makes it anew from the new order.

    A pass that matches too much is wrong in several layers: `silu` for each `sigmoid` doubles
    `x * sigmoid(x)`, and what takes a sigmoid by itself is wrong as well.
    """
    own = diagnosed.candidate.capture
    module = _as_advised(own.module, wrong, mistake, found)
    if not module:
        return False if module is None else None
    mended = msgspec.structs.replace(own, module=module)
    if _is_right(mended, diagnosed, runners):
        return True
    again = _look(mended, diagnosed, runners)
    return again is not None and (again.alignment.wrong or 0) >= wrong


def _as_advised(module: bytes, wrong: int, mistake: LikelyMistake, found: Look) -> bytes | None:
    """Return a module without a step that does a layer again, or with a step behind another.

    None where no step is to be moved: `y = softmax(x); x = linear(x)` has the linear layer, too
    late. Empty where the shapes of both differ.
    """
    steps, matched = found.traced.steps, found.alignment.matched
    if mistake.kind == "layer_repeated":
        taken = [each for each in steps[wrong].takes if matched[each] == mistake.place]
        make = taken_in_place_of
    elif mistake.kind == "order_swapped":
        taken = [each for each in range(wrong + 1, len(steps)) if matched[each] == mistake.place]
        make = done_behind
    else:
        return None
    if not taken:
        return None
    value, other = steps[wrong].value, steps[taken[0]].value
    if value is None or other is None or value.shape != other.shape:
        return b""
    return make(module, steps[wrong].variable, steps[taken[0]].variable)


def _look(capture: Capture, diagnosed: Diagnosed, runners: Any) -> Look | None:
    candidate = inspect(diagnosed.part, capture)
    if isinstance(candidate, Problem):
        return None
    own = diagnosed._replace(candidate=candidate.taking(diagnosed.oracle.shapes(diagnosed.part)))
    comparison = diagnosed.assignment.comparison(diagnosed.part)
    outputs = gather_outputs(own.candidate, own.part, own.oracle, runners, comparison)
    return None if isinstance(outputs, Problem) else look(own, outputs, runners)


def _is_right(capture: Capture, diagnosed: Diagnosed, runners: Any) -> bool:
    part, oracle = diagnosed.part, diagnosed.oracle
    candidate = inspect(part, capture)
    if isinstance(candidate, Problem):
        return False
    comparison = diagnosed.assignment.comparison(part)
    outputs = gather_outputs(
        candidate.taking(oracle.shapes(part)), part, oracle, runners, comparison
    )
    return not isinstance(outputs, Problem) and not wrong_samples(outputs, comparison).any()


def _names(source: str) -> set[str]:
    tree = _tree(source)
    return set() if tree is None else {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}


def _tree(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except SyntaxError:
        return None
