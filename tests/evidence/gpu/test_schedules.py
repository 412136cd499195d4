"""Right schedules: their outputs are right, and there is no alarm."""

import numpy as np
import pytest

from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.lowering import lower
from tests.evidence.gpu.schedules import RIGHT


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_schedule_computes_its_answer_without_alarm(name: str) -> None:
    example = RIGHT[name]()
    arrays = example.arrays()
    lowered = lower(example.module, "main", "sm_80")
    execution = Program(lowered.function, lowered.shapes).execute(arrays, [len(arrays) - 1])
    assert () == execution.findings
    desired = example.answer(*arrays[:-1])
    np.testing.assert_allclose(execution.outputs[0], desired, rtol=1e-4, atol=1e-4)
