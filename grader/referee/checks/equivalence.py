"""The check that matters most: does the module compute what PyTorch computes?"""

from __future__ import annotations

from grader.language import join, retell, say
from grader.referee.evidence import Case, Problem
from grader.referee.mismatch import explain, wrong_samples
from grader.referee.outcome import Outcome, failed, not_graded, passed
from grader.referee.registry import NoOptions, check
from grader.report import Diagnosis


@check("equivalence", options=NoOptions, needs=("outputs",))
def equivalence(case: Case, _options: NoOptions) -> Outcome:
    """The outputs are right.

    They do on the whole test set and on hidden inputs. Shape, dtype and finiteness are looked at
    first, then every value within the assignment's tolerance.
    """
    outputs, diagnosis = case.evidence.outputs, case.evidence.diagnosis
    if isinstance(outputs, Problem) or outputs is None:
        problem = outputs or Problem(say("The module was not run."))
        return not_graded(problem if diagnosis is None else _located(problem, diagnosis))
    wrong = wrong_samples(outputs, case.comparison)
    if wrong.any():
        told = diagnosis or case.evidence.schedule
        problem = explain(outputs, wrong, case.comparison, told)
        return failed(problem.reason, problem.hint)
    images = int(outputs.from_test_set.sum())
    hidden = len(wrong) - images
    if not images:
        return passed(say("All {hidden} hidden inputs give the right outputs.", hidden=hidden))
    return passed(
        say(
            "All {images} test images and {hidden} hidden inputs give the right outputs.",
            images=images,
            hidden=hidden,
        )
    )


def _located(problem: Problem, diagnosis: Diagnosis) -> Problem:
    """Return why a module could not be run, and in which step of it.

    What to do about the error is said already, unless the step's mistake is known.
    """
    reason = retell(problem.reason).rstrip()
    if reason.endswith((".", "。", "!", "?", "…")):
        reason = join(reason, diagnosis.message)
    else:  # it ends in the message of an error
        reason = f"{reason}\n{diagnosis.message}"
    hint = diagnosis.advice if diagnosis.mistake or not problem.hint else retell(problem.hint)
    return Problem(reason, hint)
