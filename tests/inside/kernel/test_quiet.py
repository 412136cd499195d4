"""Calls that the notebook does not notice leave nothing among its answers either."""

from __future__ import annotations

from tests.inside.kernel.conftest import SCHEDULED, Notebook

MODEL_AND_SCHEDULE = f"""
def create_model_via_emit_te():
    return build_model()

sch = tvm.s_tir.Schedule(create_model_via_emit_te())
{SCHEDULED}
"""


def test_a_schedule_bears_its_name_where_its_model_is_defined_in_the_same_cell(
    notebook: Notebook,
) -> None:
    """While the model's function is called, copies of the schedule stand in the namespace."""
    notebook.run(MODEL_AND_SCHEDULE)
    scheduled = [each for each in notebook.captures("schedule") if each.trace is not None]
    assert ["sch"] == [each.name for each in scheduled]
    assert scheduled[0].by_name
