"""What a box is asked of a target, and what it answers."""

from grader.messages.frames import Message


class CompareTarget(Message, frozen=True):
    """Say whether `function` of `module` is the target of the assignment.

    `workload` is the text of the assignment's `workload.py`, whose `target()` makes the module that
    is to be arrived at; `module` is TVM's graph JSON.
    """

    workload: str
    module: bytes
    function: str


class TargetResult(Message, frozen=True):
    """Whether both are structurally equal, and the target for the referee to read.

    `target` is graph JSON. `place` says where TVM finds the first difference, in its own words;
    empty when there is none.
    """

    equal: bool
    target: bytes
    place: str = ""


Task = CompareTarget
Answer = TargetResult
