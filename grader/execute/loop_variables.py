"""What belongs in place of a loop's variable in a block, for the student.

`grader/inside/kernel/compatibility.py` finds the variable and the axis. What it tells comes from a
student's process, and may be anything within its bounds.
"""

from __future__ import annotations

from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, join, say
from grader.messages import LoopVariable


def advice_on_loop_variable(found: LoopVariable | None) -> Text:
    """Return what belongs in place of a loop's variable, and of others that were found with it.

    Nothing where it is not known.
    """
    if found is None:
        return NOTHING
    return join(*map(_advice, (found, *found.others)))


def _advice(found: LoopVariable) -> Text:
    block, function, name = map(shown, (found.block, found.function, found.name))
    if found.axis:
        return say(
            "In block {block} of {function}, write {axis} in place of {name}: {name} is the loop's"
            " variable, and {axis} the axis that the block has for it.",
            block=block,
            function=function,
            name=name,
            axis=shown(found.axis),
        )
    axis = f"v{found.name}"
    declared = f"{axis} = T.axis.{found.kind}({found.extent}, {found.name})"
    return say(
        "In block {block} of {function}, {name} is a loop's variable, and the block has no axis for"
        " it: declare {declared}, and write {axis} in place of {name}.",
        block=block,
        function=function,
        name=name,
        axis=shown(axis),
        declared=shown(declared),
    )
