"""A diagnosis and an image that are made up, for tests of how they are shown."""

from __future__ import annotations

import base64

import msgspec
import numpy as np
from msgspec.structs import replace

from grader.data.dataset import CLASS_NAMES
from grader.diagnosis.explain import encode_png
from grader.language import foreign, join
from grader.report import Check, Diagnosis, Part, Report, Sample, Step
from tests import sample_reports

STEPS = (
    Step("lv", "conv2d", (4, 32, 26, 26), "unknown"),
    Step("lv1", "add", (4, 32, 26, 26), "right", foreign("conv2d")),
    Step("lv2", "max_pool2d", (4, 32, 25, 25), "wrong"),
    Step("lv3", "flatten", (4, 20000), "follows"),
)

DIAGNOSIS = Diagnosis(
    steps=STEPS,
    wrong=2,
    layer=foreign("max_pool2d"),
    wanted=(4, 32, 13, 13),
    mistake="pooling_stride",
    message=foreign(
        "After `lv2 = max_pool2d` the shape is (4, 32, 25, 25), PyTorch has (4, 32, 13, 13)."
    ),
    advice=foreign("Give the pooling a stride of 2."),
    link=foreign("Part 1. The network out of TensorIR functions"),
)

PIXELS = np.zeros((28, 28), np.uint8)
PIXELS[4:24, 6:22] = 255
PIXELS[14:24, 12:16] = 128

SAMPLE = Sample(
    place=1234,
    image=base64.b64encode(encode_png(PIXELS)).decode("ascii"),
    classes=CLASS_NAMES,
    label=3,
    predicted=1,
    pytorch=3,
    scores=(0.01, 0.5, 0.02, 0.2, None, 0.0, 0.07, 0.0, 12345.678, 0.0),
    pytorch_scores=(0.01, 0.12, 0.02, 0.75, 0.03, 0.0, 0.07, 0.0, 0.0, 0.0),
)


def with_diagnosis(
    diagnosis: Diagnosis | None = DIAGNOSIS, sample: Sample | None = SAMPLE, *, told: bool = True
) -> Report:
    """Return a report of one part that departs; its check says so if it is `told`."""
    why = foreign("9 of 9 samples differ.")
    reason = join(why, DIAGNOSIS.message) if told else foreign("Counts only if it is run.")
    check = Check(
        "equivalence",
        foreign("Same outputs"),
        0.0,
        30.0,
        "failed",
        reason,
        foreign("Mend it."),
        tells_diagnosis=told,
    )
    part = Part(
        "emit_te", foreign("The model"), 0.0, 30.0, (check,), diagnosis=diagnosis, sample=sample
    )
    return msgspec.structs.replace(sample_reports.typical(), parts=(part,))


def three_mistakes() -> Report:
    """Return a report whose parts have a mistake each, of which two are known from PyTorch."""
    wrong = [replace(_mistaken(number), id=f"part{number}") for number in (1, 2, 3)]
    return replace(sample_reports.typical(), parts=tuple(wrong), timing=None)


def _mistaken(number: int) -> Part:
    part = sample_reports.typical().parts[1]
    diagnosis = replace(
        DIAGNOSIS, message=foreign(f"Mistake {number}."), advice=foreign(f"Mend {number}.")
    )
    reason = join(diagnosis.message, foreign("9 of 9 samples differ."))
    check = replace(
        part.checks[0],
        verdict="failed",
        score=0.0,
        max_score=float(10 - number),
        code="values",
        reason=reason,
        hint=diagnosis.advice,
        tells_diagnosis=True,
    )
    return replace(part, title=foreign(f"Part {number}"), checks=(check,), diagnosis=diagnosis)
