"""Right schedules: their outputs are right, there is no alarm, and no module is refused."""

import numpy as np
import pytest
import tvm

from grader.evidence.gpu.inside.execution import Program
from grader.evidence.gpu.inside.lowering import lower
from grader.evidence.gpu.kind import KIND
from grader.evidence.plug import Admission
from grader.ir.read import read_module
from tests.evidence.gpu.more_schedules import MORE
from tests.evidence.gpu.schedules import RIGHT

ALL = {**RIGHT, **MORE}


@pytest.mark.parametrize("name", ALL)
def test_a_right_schedule_computes_its_answer_without_alarm(name: str) -> None:
    example = ALL[name]()
    arrays = example.arrays()
    lowered = lower(example.module, "main", "sm_80")
    execution = Program(lowered.function, lowered.shapes).execute(arrays, [len(arrays) - 1])
    assert () == execution.findings
    desired = example.answer(*arrays[:-1])
    np.testing.assert_allclose(execution.outputs[0], desired, rtol=1e-4, atol=1e-4)
    facts = read_module(tvm.ir.save_json(example.module).encode())
    assert [] == [each for each in facts.findings if not Admission(KIND.admits).admits(each)]


def test_there_are_fifty() -> None:
    assert len(ALL) >= 50
