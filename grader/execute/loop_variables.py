"""What belongs in place of a loop's variable in a block, for the student.

`grader/inside/kernel/compatibility.py` finds the variable and the axis. What it tells comes from a
student's process, and may be anything within its bounds.
"""

from grader.ir.vocabulary import shown
from grader.language import NOTHING, Text, join, say
from grader.messages.kernel import LoopVariable


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
            "in-block-write-in-place-loops-variable",
            block=block,
            function=function,
            name=name,
            axis=shown(found.axis),
        )
    axis = f"v{found.name}"
    declared = f"{axis} = T.axis.{found.kind}({found.extent}, {found.name})"
    return say(
        "in-block-loops-variable-and-block-has",
        block=block,
        function=function,
        name=name,
        axis=shown(axis),
        declared=shown(declared),
    )
