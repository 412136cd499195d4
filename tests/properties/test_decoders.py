"""Whatever bytes come from outside, a decoder returns a value or raises an error of its own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.decoders import SUBJECTS, Subject

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
