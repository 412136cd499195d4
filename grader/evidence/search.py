"""Searching a space of schedules: what is drawn from it, and the best of a number of trials.

A space is a schedule in whose trace something is drawn. It is proven like any other schedule before
anything is drawn from it anew, so what is searched is what was handed in. The best trial takes the
candidate's place: from then on it is a schedule like any other, with its trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec
import numpy as np

from grader.errors import IRError, ProtocolError
from grader.evidence.candidates import UNTIMED, run_task
from grader.evidence.case import Candidate, Problem, Search
from grader.evidence.oracle import Arrangement
from grader.evidence.problems import explain_failure
from grader.evidence.replay import gather_replay
from grader.evidence.runners import RunnerPool
from grader.evidence.subject import Subject
from grader.ir.facts import ModuleFacts
from grader.ir.read import read_module
from grader.ir.trace import read_trace
from grader.language import clause, foreign, say
from grader.messages import DrawnTrial, DrawnTrials, DrawTrials, RankTrials, TrialTimes

HOST = "host"

NOT_A_SPACE = Problem(
    say("schedule-draws-nothing-so-there-nothing-search"),
    say("draw-choices-in-schedule-sch-sample-perfect"),
    code="unmet",
)
NONE_RAN = Problem(
    say("none-drawn-schedules-could-built-and-run"),
    say("draw-few-schedules-yourself-and-run-each"),
    code="unmet",
)


class Searched(NamedTuple):
    """What a search has found, and the candidate to judge: the best trial, if there is one.

    `search` is None where nobody asked for one.
    """

    search: Search | Problem | None
    candidate: Candidate


def gather_search(
    candidate: Candidate,
    arrangement: Arrangement,
    subject: Subject,
    trials: int,
    runners: RunnerPool,
    generator: np.random.Generator,
) -> Searched:
    """Draw `trials` schedules from a candidate's space, and take the best for the candidate.

    Raises SandboxError where no runner can be started.
    """
    drawn = _draw(candidate, subject, trials, runners, generator)
    if isinstance(drawn, Problem):
        return Searched(drawn, candidate)
    search = Search(trials, drawn.failed, len(drawn.trials))
    read = _read(drawn.trials)
    if isinstance(read, Problem):
        return Searched(read, candidate)
    place = _best(candidate, [trial for trial, _ in read], arrangement, runners)
    if isinstance(place, Problem):
        return Searched(place, candidate)
    best, facts = read[place]
    capture = msgspec.structs.replace(candidate.capture, module=best.module, trace=best.trace)
    return Searched(search, replace(candidate, capture=capture, facts=facts, symbolic=None))


def _read(trials: Sequence[DrawnTrial]) -> list[tuple[DrawnTrial, ModuleFacts]] | Problem:
    """Return the trials that may be run, at least one, with their facts.

    They are built from what was read already. But a module is native code: what goes to a runner to
    be run was read as it is.
    """
    read, refused = list[tuple[DrawnTrial, ModuleFacts]](), list[Problem]()
    for trial in trials:
        try:
            facts = read_module(trial.module)
        except IRError as error:
            refused.append(Problem(error.message, error.hint, code="refused"))
            continue
        # All trials are timed to find the fastest: behind a guarded call, which must see all.
        unguarded = (each.unguarded for each in facts.functions.values() if each.unguarded)
        finding = next(iter((*facts.findings, *unguarded)), None)
        if finding is not None:
            refused.append(Problem(finding.message, code="refused"))
        else:
            read.append((trial, facts))
    return read or refused[0]


def _draw(
    candidate: Candidate,
    subject: Subject,
    trials: int,
    runners: RunnerPool,
    generator: np.random.Generator,
) -> DrawnTrials | Problem:
    """Return the schedules that were drawn, at least one, or why there are none."""
    capture = candidate.capture
    try:
        trace = None if capture.trace is None else read_trace(capture.trace)
    except IRError as error:
        return Problem(error.message, error.hint, code="unmet")
    if trace is None or not trace.draws:
        return NOT_A_SPACE
    proof = gather_replay(candidate, subject, (), runners)
    if not proof.proven or capture.base is None:
        return Problem(say("space-not-searched-sentence", reason=proof.reason), code="unmet")
    seed = int(generator.integers(1, 2**30))
    try:
        answer = runners.request("pure", DrawTrials(trace.document, capture.base, seed, trials))
    except ProtocolError:
        return UNTIMED
    if not isinstance(answer, DrawnTrials):
        return explain_failure(answer)
    if not answer.trials:
        return Problem(
            say(
                "none-drawn-schedules-could-applied",
                trials=trials,
                message=clause(foreign(answer.message)),
            ),
            say("draw-only-feasible-values-every-draw-must"),
            code="unmet",
        )
    return answer


def _best(
    candidate: Candidate,
    trials: Sequence[DrawnTrial],
    arrangement: Arrangement,
    runners: RunnerPool,
) -> int | Problem:
    """Return the place of the trial that took the least time."""
    run = msgspec.structs.replace(
        run_task(candidate, arrangement.first(1)), module=b"", target=HOST
    )
    try:
        answer = runners.request("pure", RankTrials(run, tuple(each.module for each in trials)))
    except ProtocolError:
        return UNTIMED
    if not isinstance(answer, TrialTimes):
        return explain_failure(answer)
    if len(answer.seconds) != len(trials):
        return UNTIMED
    timed = [(each, place) for place, each in enumerate(answer.seconds) if each is not None]
    return min(timed)[1] if timed else NONE_RAN
