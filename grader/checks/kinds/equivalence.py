"""The check that matters most: does the module compute what PyTorch computes?"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from grader.assignment import Table
from grader.checks.registry import NOT_RUN, Outcome, check, failed, not_graded, partial, passed
from grader.diagnosis.words import name_layer
from grader.errors import CourseError
from grader.evidence.case import Case, JudgedLayer, Problem
from grader.evidence.named_cases import tell_wrong
from grader.evidence.problems import explain, wrong_samples
from grader.language import Text, below, in_a_row, join, say
from grader.report import Diagnosis


class EquivalenceOptions(Table, frozen=True):
    """Options of the check.

    With `partial = "steps"` a wrong module earns the points of the layers that are right where
    PyTorch's values are put in place of the wrong ones. `weights` has a share for each of PyTorch's
    layers that changes numbers, in their order; without them, all weigh the same.
    """

    partial: Literal["none", "steps"] = "none"
    weights: tuple[float, ...] = ()


@check("equivalence", options=EquivalenceOptions, needs=("outputs",))
def equivalence(case: Case, options: EquivalenceOptions) -> Outcome:
    """The outputs are right.

    They do on the whole test set and on hidden inputs. Shape, dtype and finiteness are looked at
    first, then every value within the assignment's tolerance.
    """
    outputs, diagnosis = case.evidence.outputs, case.evidence.diagnosis
    if isinstance(outputs, Problem) or outputs is None:
        problem = outputs or NOT_RUN
        return not_graded(problem if diagnosis is None else _located(problem, diagnosis))
    wrong = wrong_samples(outputs, case.comparison)
    if wrong.any():
        told = diagnosis or case.evidence.schedule
        problem = explain(outputs, wrong, case.comparison, told)
        others = ((each.cases, wrong_samples(each, case.comparison)) for each in outputs.others)
        reason = join(problem.reason, *tell_wrong([(outputs.cases, wrong), *others]))
        problem = replace(problem, reason=reason)
        if case.evidence.layers:
            return _carried(case.evidence.layers, options.weights, problem)
        return failed(problem.reason, problem.hint, code=problem.code)
    images = int(outputs.from_test_set.sum())
    hidden = len(wrong) + sum(len(each.desired) for each in outputs.others) - images
    if not images:
        return passed(say("All {hidden} hidden inputs give the right outputs.", hidden=hidden))
    return passed(
        say(
            "All {images} test images and {hidden} hidden inputs give the right outputs.",
            images=images,
            hidden=hidden,
        )
    )


def _carried(
    layers: tuple[JudgedLayer, ...], weights: tuple[float, ...], problem: Problem
) -> Outcome:
    """Give what the layers are worth that are right in themselves.

    Never all of it: where no layer is lost that has a weight, the smallest share is.
    """
    shares = _shares(layers, weights)
    right = sum(share for share, each in zip(shares, layers, strict=True) if each.is_right)
    right = min(right, sum(shares) - min(each for each in shares if each > 0))
    said = _told(layers)
    return partial(right / sum(shares), join(problem.reason, said), problem.hint)


def _told(layers: tuple[JudgedLayer, ...]) -> Text:
    """Say which layers are right in themselves."""
    wrong = [name_layer(each.name) for each in layers if not each.is_right]
    if not wrong:
        return say("Every layer is right in itself; what is wrong comes after them.")
    return say(
        "With PyTorch's values put in place of wrong ones, {right} of {count} layers are right."
        " Lost: {wrong}.",
        right=len(layers) - len(wrong),
        count=len(layers),
        wrong=in_a_row(wrong),
    )


def _shares(layers: tuple[JudgedLayer, ...], weights: tuple[float, ...]) -> tuple[float, ...]:
    if not weights:
        return (1.0,) * len(layers)
    if len(weights) != len(layers) or min(weights) < 0 or sum(weights) <= 0:
        raise CourseError(
            say(
                "An equivalence check has {count} weights: {weights}.",
                count=len(weights),
                weights=str(list(weights)),
            ),
            say(
                "PyTorch has {count} layers: {names}. Give one number for each, 0 for what is"
                " worth nothing.",
                count=len(layers),
                names=in_a_row(each.name for each in layers),
            ),
        )
    return weights


def _located(problem: Problem, diagnosis: Diagnosis) -> Problem:
    """Return why a module could not be run, and in which step of it.

    What to do about the error is said already, unless the step's mistake is known.
    """
    connect = below if problem.quotes else join
    reason = connect(problem.reason, diagnosis.message)
    hint = diagnosis.advice if diagnosis.mistake or not problem.hint else problem.hint
    return Problem(reason, hint, code=problem.code)
