"""Searching a space of schedules: what is drawn from it, and the best of a number of trials.

A space is a schedule in whose trace something is drawn. It is proven like any other schedule before
anything is drawn from it anew, so what is searched is what was handed in. The best trial takes the
candidate's place: from then on it is a schedule like any other, with its trace.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from grader.errors import IRError
from grader.evidence.candidates import UNTIMED, run_task
from grader.evidence.case import Problem
from grader.evidence.oracle import Arrangement
from grader.evidence.plug import Choice, Question, ask
from grader.evidence.replay import gather_replay
from grader.evidence.search.found import SEARCH, Search, SpaceOptions
from grader.evidence.search.messages import (
    DrawnTrial,
    DrawnTrials,
    DrawTrials,
    RankTrials,
    TrialTimes,
)
from grader.ir.facts import ModuleFacts
from grader.ir.read import read_module
from grader.ir.trace import read_trace
from grader.language import clause, foreign, say

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


def search_space(question: Question) -> Choice[Search]:
    """Draw schedules from a candidate's space, and take the best for the candidate.

    Raises SandboxError where no runner can be started.
    """
    candidate, arrangement = question.candidate, question.arrangement()
    if isinstance(arrangement, Problem):
        return Choice(arrangement, candidate)
    options = question.options(SpaceOptions)
    assert options is not None, "the check that needs this has options"
    drawn = _draw(question, options.trials)
    if isinstance(drawn, Problem):
        return Choice(drawn, candidate)
    search = Search(options.trials, drawn.failed, len(drawn.trials))
    read = _read(drawn.trials)
    if isinstance(read, Problem):
        return Choice(read, candidate)
    place = _best(question, arrangement, [trial for trial, _ in read])
    if isinstance(place, Problem):
        return Choice(place, candidate)
    best, facts = read[place]
    capture = msgspec.structs.replace(candidate.capture, module=best.module, trace=best.trace)
    return Choice(search, replace(candidate, capture=capture, facts=facts, symbolic=None))


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


def _draw(question: Question, trials: int) -> DrawnTrials | Problem:
    """Return the schedules that were drawn, at least one, or why there are none."""
    candidate, runners = question.candidate, question.runners
    capture = candidate.capture
    try:
        trace = None if capture.trace is None else read_trace(capture.trace)
    except IRError as error:
        return Problem(error.message, error.hint, code="unmet")
    if trace is None or not trace.draws:
        return NOT_A_SPACE
    proof = gather_replay(candidate, question.subject(question.weight), (), runners)
    if not proof.proven or capture.base is None:
        return Problem(say("space-not-searched-sentence", reason=proof.reason), code="unmet")
    seed = int(question.generator.integers(1, 2**30))
    task = DrawTrials(trace.document, capture.base, seed, trials)
    answer = ask(runners, SEARCH.name, task, DrawnTrials, UNTIMED)
    if isinstance(answer, Problem):
        return answer
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
    question: Question, arrangement: Arrangement, trials: Sequence[DrawnTrial]
) -> int | Problem:
    """Return the place of the trial that took the least time."""
    run = msgspec.structs.replace(
        run_task(question.candidate, arrangement.first(1)), module=b"", target=HOST
    )
    task = RankTrials(run, tuple(each.module for each in trials))
    answer = ask(question.runners, SEARCH.name, task, TrialTimes, UNTIMED, timed=True)
    if isinstance(answer, Problem):
        return answer
    if len(answer.seconds) != len(trials):
        return UNTIMED
    timed = [(each, place) for place, each in enumerate(answer.seconds) if each is not None]
    return min(timed)[1] if timed else NONE_RAN
