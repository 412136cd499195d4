"""A layer that is computed twice, and another one of its kind not at all.

`u = x @ gate` beside `g = x @ gate` is a right value, of the wrong layer. What takes it would be
told to take "the result of matmul" in place of "the result of matmul".
"""

from __future__ import annotations

from grader.diagnosis.matching import Matching
from grader.diagnosis.mistakes import LikelyMistake, whole_of


def computed_twice(
    matching: Matching, wrong: int, mistake: LikelyMistake | None
) -> tuple[int, LikelyMistake] | None:
    """Return the step that should have another layer's value, where the wrong step takes it.

    `mistake` says that the wrong step is right but for what it, or a layer before it, takes.
    """
    if mistake is None or mistake.kind != "other_operand" or mistake.place is None:
        return None
    program = matching.program
    for step in sorted(matching.steps[wrong].takes):
        place, first = matching.matched[step], _first_with(matching, step)
        if place is None or first is None:
            continue
        if program.layers[place].name == mistake.facts.get("taken"):
            wants = program.takes[mistake.place]
        elif mistake.facts.get("taken") == "":
            # Where one step does all that follows, the product itself takes another argument.
            wants = (mistake.place,)
        else:
            continue
        for wanted in wants:
            is_alike = matching.known[wanted].shape == matching.known[place].shape
            if is_alike and wanted not in matching.matched and matching.steps[first].variable:
                name = program.layers[whole_of(wanted, program)].name
                told = {"repeats": matching.steps[first].variable}
                return step, LikelyMistake("other_operand", name, told, wanted)
    return None


def _first_with(matching: Matching, step: int) -> int | None:
    """Return an earlier step with the value of a step that does not copy it, None without any."""
    return next(
        (
            each
            for each in range(step)
            if matching.matched[each] == matching.matched[step]
            and each not in matching.ancestors[step]
        ),
        None,
    )
