"""Candidates of a part: which captures are read, and what runners say of those that are accepted.

No TVM and no Python of a student is in the referee: captures are read as data, modules run in
runners.
"""

import dataclasses
import functools
import re
from typing import NamedTuple, cast

import numpy as np
from msgspec.structs import replace

from grader.assignment import Comparison, Computation, PartTable
from grader.assignment_files import GivenForms
from grader.errors import IRError, ProtocolError
from grader.evidence.case import Candidate, FloatArray, Outputs, Problem, StubOutputs
from grader.evidence.oracle import Arrangement, Oracle, spell
from grader.evidence.plug import UNREADABLE, Admission
from grader.evidence.problems import (
    explain_failure,
    explain_fault,
    explain_python_failure,
    wrong_samples,
)
from grader.evidence.runners import Kind, RunnerPool
from grader.evidence.subject import find_function
from grader.execute.advice import REPLACE_STUB
from grader.execute.misfits import explain_misfits
from grader.ir.facts import Finding, ModuleFacts
from grader.ir.read import read_module
from grader.ir.rewriting import without_idle_attributes
from grader.ir.vocabulary import PIPELINE_ORDER, PIPELINE_STAGES
from grader.language import NOTHING, Text, join, say
from grader.messages.frames import Array, FrameError, unpack_array
from grader.messages.kernel import PYTHON_FUNCTION, Capture
from grader.messages.runner import RunModule, RunResult, TaskFailure

# --- reading --------------------------------------------------------------------------------------
# Which captures of a part are looked at, and reading them: no TVM, no Python of a student.


CANDIDATE_LIMIT = 6
"""Most candidates of one part that are run: those with the name asked for first, and of these the
latest. Nobody has more serious versions."""

PYTHON_LIMIT = 2
"""The same for Python functions, each of which may use up all the time that a task has."""

READ_LIMIT = 24
"""Most candidates of one part that are read: those that the assignment gives are not run."""

_REMEMBERED = 4
"""Modules whose facts are kept, with the text of each, which may take some megabytes."""

_EXTERN_NAME = re.compile(r"[A-Za-z_][\w.\-]{0,127}", re.ASCII)


def is_meant(part: PartTable, capture: Capture) -> bool:
    """Say whether a capture may be the answer: in some parts other modules are no drafts of it."""
    return capture.by_name or capture.trace is not None or not part.only_named


def in_order(found: list[Capture]) -> list[Capture]:
    """Return the captures as they are tried: with a name asked for first, the latest first."""
    latest = [*found][::-1]
    latest.sort(key=lambda capture: not capture.by_name)
    return latest


def candidate_limit(part: PartTable) -> int:
    """Return how many candidates of a part are run."""
    return PYTHON_LIMIT if part.entry_kind == "python" else CANDIDATE_LIMIT


_NO_PYTHON = say("leave-out-basepymodule-write-functions-under")
_PLAIN = say("use-tensorir-relax-and-arithmetic-only")
_WHOLE_PIPELINE = say("annotate-loop-with-stage-and-order")
_NO_EXTERNS = say("use-module-without-external-functions")


def _remedy(found: Finding, capture: Capture) -> Text:
    # A schedule of the module of another part, in which a library does the convolution.
    if found.code == "packed_call" and found.subject in capture.externs:
        return _NO_EXTERNS
    if found.code == "attribute" and found.subject in (PIPELINE_STAGES, PIPELINE_ORDER):
        return _WHOLE_PIPELINE
    return _NO_PYTHON if found.code == "python_module" else _PLAIN


def inspect(
    part: PartTable,
    capture: Capture,
    admission: Admission = Admission(),  # noqa: B008 - frozen
) -> Candidate | Problem:
    """Read a capture. A finding of the allow-list, or a graph that cannot be read, is a problem.

    Findings that are admitted are none.
    """
    if part.entry_kind == "python":
        return _inspect_python(capture)
    names = [name for name in capture.externs if _EXTERN_NAME.fullmatch(name)]
    permitted = tuple(names) if part.externs else ()
    try:
        module, facts, left_out = _read(capture.module, permitted)
        started = None if capture.base is None else _read(capture.base)
    except IRError as error:
        return Problem(error.message, error.hint, code="refused")
    findings = [each for each in facts.findings if not admission.admits(each)]
    if findings:
        first = findings[0]
        explained = admission.explained(first)
        if explained is not None:
            return explained
        # Who forgot to register the function was told that it is not allowed.
        is_unknown = first.subject not in capture.externs and _EXTERN_NAME.fullmatch(first.subject)
        if part.externs and first.code == "packed_call" and is_unknown:
            return _not_registered(first.subject)
        return Problem(first.message, _remedy(first, capture), code="refused")
    if _is_idle(facts):
        where = say("name-in-code-cell", name=capture.name, cell=capture.cell)
        return Problem(say("not-solved-yet", where=where), REPLACE_STUB, code="unsolved")
    capture = replace(capture, module=module, base=started and started.document)
    base = None if started is None or started.facts.findings else started.facts
    return Candidate(capture, facts, base, left_out)


def _is_idle(facts: ModuleFacts) -> bool:
    """Say whether a module is left as a handout has it: functions of TIR in which nothing is done.

    Whoever wrote a buffer and `pass` was told that the buffer differs from PyTorch's layer.
    """
    functions = facts.functions.values()
    return not facts.has_main and bool(functions) and all(each.idle for each in functions)


class _Module(NamedTuple):
    document: bytes
    facts: ModuleFacts
    left_out: tuple[str, ...] = ()


@functools.lru_cache(maxsize=_REMEMBERED)
def _read(document: bytes, externs: tuple[str, ...] = ()) -> _Module:
    """Read a module, without attributes of functions that mean nothing. Raises IRError.

    What a schedule was begun on is mostly the module of another part, bit by bit.
    """
    facts = read_module(document, externs)
    # A misspelt attribute is no attack. What is left out is looked for in a second reading, of what
    # will be run.
    if any(finding.code == "attribute" for finding in facts.findings):
        cleaned, left_out = without_idle_attributes(document)
        return _Module(cleaned, read_module(cleaned, externs), left_out)
    return _Module(document, facts)


def is_given(candidate: Candidate, comparison: Comparison, given: GivenForms) -> bool:
    """Say whether a module is one that the assignment gives, by whatever name it goes.

    So is one whose schedule started there: a step more makes it no work of one's own.
    """
    by_name = candidate.capture.by_name
    # The example's module with one step of a schedule more has another form, and the same work in
    # it.
    modules = [candidate.facts] if candidate.base is None else [candidate.facts, candidate.base]
    return any(
        forms and all(given.refuses(form, by_name=by_name) for form in forms)
        for facts in modules
        for forms in _forms_of(facts, comparison)
    )


def _forms_of(facts: ModuleFacts, comparison: Comparison) -> list[set[str]]:
    """Return the forms of what answers: of `main`, or of the function that computes it.

    A `main` that does nothing but call functions that are given is no other answer to a part that
    asks for a function.
    """
    if not isinstance(comparison, Computation):
        return [{facts.form}] if facts.has_main else []
    if not facts.has_main:
        found = find_function(facts, comparison)
        answering = facts.functions.values() if found is None else (found,)
        return [{each.form for each in answering}]
    # A `main` that calls nothing but given functions is given itself, in whatever order it stands.
    if any(each.kind != "tir" for each in facts.calls):
        return [{facts.form}]
    called = {each.callee for each in facts.calls} & facts.functions.keys()
    return [{facts.form}, {facts.functions[name].form for name in called}]


def _not_registered(name: str) -> Problem:
    """Say that a part which may call external functions calls one that the notebook lacks.

    The name is one that a function can be registered by: letters, digits, dots and hyphens.
    """
    return Problem(
        say("module-calls-external-function-which-notebook-does", name=name),
        say("register-before-module-built-tvm-register-global", name=name),
        code="refused",
    )


def _inspect_python(capture: Capture) -> Candidate | Problem:
    """Take a capture of a Python function: there is no module to read."""
    if capture.module or list(capture.externs) != [PYTHON_FUNCTION]:
        return Problem(
            say("function-could-not-transferred"), say("define-in-cell-own"), code="not_captured"
        )
    nothing = ModuleFacts(
        has_main=False, inputs=(), output=None, calls=(), functions={}, externs=(), findings=()
    )
    return Candidate(capture, nothing)


# --- outputs --------------------------------------------------------------------------------------
# Gathering evidence: every candidate is built and run in runners that nothing else has used.


BUILD_TARGET = "llvm"
STUB_CALLS = 2
"""Calls that a module without its externs is run on, twice each, and as many other ones."""


UNTIMED = Problem(
    say("answer-process-that-timed-schedule-cannot-read"),
    say("schedule-may-compute-but-must-not-touch"),
    code="no_answer",
)
"""What comes of a runner that times something and whose answer breaks the protocol."""

_STALE = Problem(
    say("outputs-right-by-luck-buffer-read-before"),
    say("write-buffer-before-added-or-compared"),
    code="not_deterministic",
)


_WHOLE_ARRAYS = say("in-external-function-compute-whole-arrays")


def runner_kind(part: PartTable) -> Kind:
    """Return the kind of runner in which a part's candidates are run."""
    return "extern" if part.externs or part.entry_kind == "python" else "pure"


def gather_outputs(
    candidate: Candidate,
    part: PartTable,
    oracle: Oracle,
    runners: RunnerPool,
    comparison: Comparison,
) -> Outputs | Problem:
    """Return a candidate's outputs on all of the oracle's inputs, (samples, *output shape).

    Where these have several shapes, the outputs are those of the first shape with something wrong,
    and have the others with them. A problem where it cannot be called, fails, or answers for fewer
    samples than there are, and where right outputs are a matter of luck: `Y = T.max(Y, x)` that is
    never initialised is right where NaN are found, which LLVM's maximum drops. Raises SandboxError
    where no runner can be started.
    """
    # In memory rows lie one behind the other: a guard lets `A[i, 17]` pass where there is one more.
    if candidate.facts.faults:
        return explain_fault(candidate.facts.faults[0])
    if len(oracle.groups) == 1:
        return _gather_group(candidate, part, oracle, runners, comparison)
    found: list[Outputs] = []
    for place, group in enumerate(oracle.groups):
        bound = candidate.taking(group.shapes(part))
        outputs = _gather_group(bound, part, group, runners, comparison)
        if isinstance(outputs, Problem):
            reason = join(say("where-title", extents=group.extents), outputs.reason)
            return dataclasses.replace(outputs, reason=reason, group=place)
        found.append(dataclasses.replace(outputs, group=place, extents=group.extents))
    chosen = next((each for each in found if wrong_samples(each, comparison).any()), found[0])
    return dataclasses.replace(chosen, others=tuple(each for each in found if each is not chosen))


def _gather_group(
    candidate: Candidate,
    part: PartTable,
    oracle: Oracle,
    runners: RunnerPool,
    comparison: Comparison,
) -> Outputs | Problem:
    arrangement = oracle.arrange(part, candidate.signature)
    if isinstance(arrangement, Problem):
        return arrangement
    kind = runner_kind(part)
    externs = candidate.capture.externs if kind == "extern" else {}
    try:
        answer = runners.request(kind, run_task(candidate, arrangement, externs=externs))
    except ProtocolError:
        return UNREADABLE
    if isinstance(answer, TaskFailure) and candidate.is_python:
        return explain_python_failure(answer, candidate.capture, spell(arrangement.arguments))
    if not isinstance(answer, RunResult):
        return _explained(candidate, explain_failure(answer))
    actual = _by_sample(answer.outputs, arrangement)
    if isinstance(actual, Problem):
        return actual
    first = slice(arrangement.samples)
    names = {PYTHON_FUNCTION: candidate.capture.name} if candidate.is_python else {}
    unwritten = tuple(names.get(each, each) for each in answer.unwritten)
    desired, images = oracle.desired[first], oracle.from_test_set[first]
    outputs = Outputs(actual, desired, images, unwritten, oracle.cases)
    return _STALE if answer.stale and not wrong_samples(outputs, comparison).any() else outputs


def _explained(candidate: Candidate, problem: Problem) -> Problem:
    """Name the calls that do not fit their functions, where a module could not be built for them;
    and loops in Python, where externs may be what took too long.
    """
    if problem.code == "time_limit" and candidate.facts.externs:
        return dataclasses.replace(problem, hint=join(problem.hint, _WHOLE_ARRAYS))
    reason, hint = (
        explain_misfits(candidate.facts) if problem.code == "not_built" else (NOTHING,) * 2
    )
    return Problem(reason, hint, code="not_built") if reason else problem


def gather_stubs(
    candidate: Candidate,
    part: PartTable,
    oracle: Oracle,
    runners: RunnerPool,
    generator: np.random.Generator,
) -> StubOutputs | Problem:
    """Run a candidate with noise in place of its externs, without student Python.

    The noise depends on the seed and on how many calls there were before. So the same inputs twice
    show whether the noise matters, and other ones, for which the noise begins anew, whether the
    inputs do.
    """
    arrangement = oracle.arrange(part, candidate.signature)
    if isinstance(arrangement, Problem):
        return arrangement
    first = arrangement.first(STUB_CALLS)
    others = first.redrawn(generator)
    stubs = dict.fromkeys(candidate.facts.externs, int(generator.integers(1, 2**31)))
    calls = first.followed_by(first).followed_by(others)
    count = next(len(each.array) for each in first.arguments if each.varies)
    task = replace(run_task(candidate, calls, stubs=stubs), restart=2 * count)
    try:
        answer = runners.request("pure", task)
        if not isinstance(answer, RunResult):
            return explain_failure(answer)
        return StubOutputs(*np.split(cast(FloatArray, unpack_array(answer.outputs)), 3))
    except (ProtocolError, FrameError, ValueError):
        return UNREADABLE


def run_task(
    candidate: Candidate,
    arrangement: Arrangement,
    externs: dict[str, bytes] | None = None,
    stubs: dict[str, int] | None = None,
) -> RunModule:
    """Return the task to call a candidate as arranged, with its externs or with noise."""
    return RunModule(
        module=candidate.capture.module,
        arguments=arrangement.packed(),
        target=BUILD_TARGET,
        threads=1,
        externs=externs or {},
        stubs=stubs or {},
        function=arrangement.function,
        outputs=arrangement.outputs,
    )


def _by_sample(outputs: Array, arrangement: Arrangement) -> FloatArray | Problem:
    """Return one row for each sample, without what filled up the last batch."""
    if arrangement.is_batched and len(outputs.shape) < 2:
        return Problem(
            say("output-has-no-axis-for-batch"),
            say("return-one-row-scores-for-every-image"),
            code="shape",
        )
    try:
        values = unpack_array(outputs)
    except FrameError:
        return UNREADABLE
    if arrangement.is_batched:
        calls, batch, *sample = values.shape
        values = values.reshape(calls * batch, *sample)  # -1 is ambiguous for an empty sample
    if len(values) < arrangement.samples:
        return Problem(
            say("output-has-rows-for-batch-inputs", rows=outputs.shape[1]),
            say("return-one-row-scores-for-every-image"),
            code="shape",
        )
    return cast(FloatArray, values[: arrangement.samples])
