"""Adding to a case what explains outputs that differ. It decides about no points."""

from __future__ import annotations

import warnings
from dataclasses import replace

import msgspec

from grader.diagnosis.report import Diagnosed, diagnose
from grader.diagnosis.sample import choose_sample
from grader.diagnosis.schedule import SCHEDULE_STEP, find_step
from grader.evidence.case import Case, Evidence, Outputs, Problem
from grader.evidence.mismatch import wrong_samples
from grader.evidence.runners import RunnerPool


def explain_case(case: Case, diagnosed: Diagnosed, runners: RunnerPool) -> Case:
    """Return the case with a diagnosis and a test image where its outputs are not PyTorch's.

    It is the same case where they are, or where nothing was to be compared. What ran out of time
    is not run again.
    """
    outputs = case.evidence.outputs
    if outputs is None or (isinstance(outputs, Problem) and outputs.code == "time_limit"):
        return case
    if isinstance(outputs, Outputs) and not wrong_samples(outputs, case.comparison).any():
        return case
    try:
        return replace(case, evidence=_explained(case.evidence, outputs, diagnosed, runners))
    except Exception as error:  # noqa: BLE001 - an explanation that fails must not cost a grade
        warnings.warn(f"A diagnosis failed: {error!r}.", RuntimeWarning, stacklevel=2)
        return case


def _explained(
    evidence: Evidence, outputs: Outputs | Problem, diagnosed: Diagnosed, runners: RunnerPool
) -> Evidence:
    sample = schedule = None
    if isinstance(outputs, Outputs):
        wrong = wrong_samples(outputs, diagnosed.oracle.options)
        sample = choose_sample(outputs, wrong, diagnosed.oracle)
        schedule = find_step(diagnosed, outputs, runners)
    diagnosis = diagnose(diagnosed, outputs, runners)
    if schedule is not None and diagnosis is not None:
        diagnosis = msgspec.structs.replace(
            diagnosis, message=schedule.reason, advice=schedule.hint, mistake=SCHEDULE_STEP
        )
    return replace(evidence, diagnosis=diagnosis, schedule=schedule, sample=sample)
