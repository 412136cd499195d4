"""Whatever bytes come from outside, a decoder returns a value or raises an error of its own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grader.measurement.measure import Measured
from tests.properties.decoders import SUBJECTS, TIMING, Subject, measured_of

EXAMPLES = 100


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@settings(
    max_examples=EXAMPLES,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_nothing_but_its_own_errors(subject: Subject, data: st.DataObject) -> None:
    """See the docstring of each check for what it may raise."""
    subject.check(data.draw(subject.inputs()))


def test_the_timing_that_others_are_made_of_is_a_measurement() -> None:
    """Else nothing of them would be read but why they are none."""
    assert isinstance(measured_of(TIMING), Measured)
