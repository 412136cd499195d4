"""Why a kernel is not executed."""

from __future__ import annotations

from grader.evidence.gpu.messages import NotExecuted, Reason


class NotSimulatedError(Exception):
    """Raised where a kernel has something that is not simulated; it may be right nonetheless."""

    def __init__(self, reason: Reason, subject: str) -> None:
        super().__init__(f"{reason}: {subject}")
        self.answer = NotExecuted(reason, subject[:500])
