"""What a student reads of a task that a runner could not do."""

from __future__ import annotations

import pytest

from grader.evidence.failures import explain_failure
from grader.messages import TaskFailure, Violation
from grader.messages import ViolationKind as Kind


def explained(kind: Kind, value: int = 0, size: int = 0) -> str:
    violation = Violation(kind, "conv2d", "pad_temp", value, size)
    problem = explain_failure(TaskFailure("run", "OutOfBounds", "", violation))
    assert "extents of its buffer" in problem.hint.english
    return problem.reason.english


class TestViolation:
    def test_an_index_is_told_with_its_buffer_and_what_that_has(self) -> None:
        assert (
            "The function `conv2d` would have used item 3136 of the buffer `pad_temp`, but it has"
            " only the items 0 to 3135."
        ) == explained("index", 3136, 3136)

    def test_a_buffer_of_unknown_size_is_told_without_it(self) -> None:
        assert "item -1 of the buffer `pad_temp`, which it does not have" in explained("index", -1)

    @pytest.mark.parametrize(
        ("kind", "words"),
        [
            ("overflow", "larger or smaller than its type can hold"),
            ("division", "divides an integer by zero"),
            ("conversion", "an integer of a number that has none"),
            ("allocation", "a buffer `pad_temp` of a size that cannot be"),
            ("assumption", "assumes something that is not so"),
            ("unguarded", "cannot be seen that it stays within its buffers"),
        ],
    )
    def test_everything_else_has_a_sentence_of_its_own(self, kind: Kind, words: str) -> None:
        reason = explained(kind)
        assert "`conv2d`" in reason
        assert words in reason

    def test_names_are_cut_and_printable(self) -> None:
        violation = Violation("index", "f" * 200, "`\x1b[31m" * 20, 1, 1)
        reason = explain_failure(TaskFailure("run", "OutOfBounds", "", violation)).reason
        assert "\x1b" not in reason.english
        assert len(reason.english) < 300
