"""Why a function is not proven to stay inside its buffers, in words."""

from __future__ import annotations

from grader.ir.facts import Finding
from grader.ir.names import shown
from grader.language import Text, say

_UNPROVEN = {
    "conversion": say(
        "In the function {name}, an index comes from a {subject} that may not fit its type."
    ),
    "division": say("The function {name} divides by a number of {subject} that may be zero."),
    "index": say(
        "In the function {name}, index {place} of the buffer {subject} may lie outside of it."
    ),
    "iterator": say("In the function {name}, a block's iterator {subject} may leave its range."),
    "nesting": say("The function {name} is nested too deep to be looked through."),
    "overflow": say("In the function {name}, an index may be too large for its type {subject}."),
    "part": say("In the function {name}, the part {subject} of a buffer may lie outside of it."),
    "size": say("In the function {name}, it is not known how large the buffer {subject} is."),
    "stack": say("The function {name} keeps too much in small buffers: they are on the stack."),
}
_UNGUARDED = {
    "annotation": say(
        "In the function {name}, an annotation tells TVM something wrong of a buffer ({subject})."
    ),
    "call": say("The function {name} calls another function of its module."),
    "layout": say(
        "In the function {name}, the buffer {subject} has strides, an offset or a layout of its"
        " own."
    ),
    "large": say("In the function {name}, the buffer {subject} takes more than 1 GB."),
    "length": say("The function {name} is too long to be looked through."),
    "pointer": say("The function {name} uses addresses of buffers ({subject})."),
    "scope": say("The function {name} uses {subject} where it is not defined."),
    "types": say(
        "The function {name} has an expression ({subject}) that is of another type than it says."
    ),
    "undefined": say("What the function {name} does depends on an undefined value ({subject})."),
}


class Reasons:
    """The first reason why a function is not proven, and the first why a guard does not help.

    None where there is no reason. What a guard does not help is not proven either.
    """

    def __init__(self, name: str) -> None:
        self.unproven: Finding | None = None
        self.unguarded: Finding | None = None
        self._name = name

    def doubt(self, code: str, subject: str, place: int = 0) -> None:
        """Say that something is not certain. A guard sees it when it happens."""
        if self.unproven is None:
            self.unproven = self._finding(_UNPROVEN[code], code, subject, place)

    def refuse(self, code: str, subject: str) -> None:
        """Say that the function does, or may do, what no guard sees."""
        if self.unguarded is None:
            self.unguarded = self._finding(_UNGUARDED[code], code, subject)
        if self.unproven is None:
            self.unproven = self.unguarded

    def _finding(self, sentence: Text, code: str, subject: str, place: int = 0) -> Finding:
        text = say(sentence, name=shown(self._name), subject=shown(subject), place=place)
        return Finding(code=code, subject=subject, where=self._name, message=text)
