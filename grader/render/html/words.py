"""The words that the templates write."""

from __future__ import annotations

from collections.abc import Mapping

from grader.language import Text, say
from grader.render.speech import tell

_WORDS: Mapping[str, Text] = {
    "advice": say("What to do: "),
    "after": say("after"),
    "baseline": say("unscheduled"),
    "batch": say("Batch"),
    "before": say("before"),
    "call": say("One call"),
    "class": say("Class"),
    "circumstances": say("How it was graded"),
    "contents": say("Contents"),
    "departs": say("Where it departs from PyTorch"),
    "distribution": say("Every round"),
    "errors": say("Cells that ended in an error"),
    "findings": say("Findings"),
    "first": say("Fix this first"),
    "first_rule": say(
        "What is wrong comes before what is missing, that before what could be better; of"
        " these, what brings the most points."
    ),
    "function": say("Function"),
    "grade": say("Your grade"),
    "grade_steps": say("How it comes about"),
    "graph": say("The graph of main"),
    "graph_list": say("The same as text"),
    "image_of_cell": say("An image that this cell put out"),
    "interval": say("95 % interval"),
    "layer": say("In PyTorch"),
    "left_out": say("The page would become too large with the rest of the notebook:"),
    "legend_estimate": say("estimate"),
    "legend_median": say("median"),
    "legend_reference": say("reference"),
    "legend_round": say("a round"),
    "limit": say("Of this machine's limit"),
    "lines_folded": say("lines that are the same"),
    "mark": say("Mark"),
    "maximum": say("of"),
    "notebook": say("The notebook, as it was run"),
    "notes": say("Notes"),
    "operations": say("Operations for each byte"),
    "part": say("Part"),
    "parts": say("Parts"),
    "own_cells": say("Your cells:"),
    "points": say("Points"),
    "problem": say("Error"),
    "quiet": say("This page loads nothing and has no script."),
    "rate": say("GFLOP/s"),
    "reread": say("To read again:"),
    "reread_notebook": say("To read again in the notebook:"),
    "roofline": say("Roofline"),
    "sample": say("A test image"),
    "sample_image": say("The test image, enlarged"),
    "schedule": say("What the schedule changed"),
    "scores": say("Scores"),
    "script_note": say("Indents are halved, and types of numbers are left out."),
    "shape": say("Shape"),
    "share": say("Share"),
    "skip": say("Skip to the parts"),
    "speed": say("Speed of your schedule"),
    "speedup": say("Speed-up"),
    "step": say("Step"),
    "where": say("Where"),
    "written_by": say("Written by grader. This page loads nothing and has no script."),
    "yours": say("Yours"),
}


def words() -> dict[str, str]:
    """Return all words that the templates write, by the names that they use for them."""
    return {name: tell(text) for name, text in _WORDS.items()}
