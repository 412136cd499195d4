"""The words that the templates write."""

from __future__ import annotations

from grader.render.speech import tell


def words() -> dict[str, str]:
    """Return all words that the templates write, by the names that they use for them."""
    return {
        "advice": tell("What to do: "),
        "after": tell("after"),
        "baseline": tell("unscheduled"),
        "batch": tell("Batch"),
        "before": tell("before"),
        "call": tell("One call"),
        "class": tell("Class"),
        "circumstances": tell("How it was graded"),
        "contents": tell("Contents"),
        "departs": tell("Where it departs from PyTorch"),
        "distribution": tell("Every round"),
        "errors": tell("Cells that ended in an error"),
        "findings": tell("Findings"),
        "first": tell("Fix this first"),
        "first_rule": tell(
            "What is wrong comes before what is missing, that before what could be better; of"
            " these, what brings the most points."
        ),
        "function": tell("Function"),
        "graph": tell("The graph of main"),
        "graph_list": tell("The same as text"),
        "image_of_cell": tell("An image that this cell put out"),
        "interval": tell("95 % interval"),
        "layer": tell("In PyTorch"),
        "left_out": tell("The page would become too large with the rest of the notebook:"),
        "legend_estimate": tell("estimate"),
        "legend_median": tell("median"),
        "legend_reference": tell("reference"),
        "legend_round": tell("a round"),
        "limit": tell("Of this machine's limit"),
        "lines_folded": tell("lines that are the same"),
        "mark": tell("Mark"),
        "maximum": tell("of"),
        "notebook": tell("The notebook, as it was run"),
        "notes": tell("Notes"),
        "operations": tell("Operations for each byte"),
        "part": tell("Part"),
        "parts": tell("Parts"),
        "own_cells": tell("Your cells:"),
        "points": tell("Points"),
        "problem": tell("Error"),
        "rate": tell("GFLOP/s"),
        "reread": tell("To read again:"),
        "reread_notebook": tell("To read again in the notebook:"),
        "roofline": tell("Roofline"),
        "sample": tell("A test image"),
        "sample_image": tell("The test image, enlarged"),
        "schedule": tell("What the schedule changed"),
        "scores": tell("Scores"),
        "script_note": tell("Indents are halved, and types of numbers are left out."),
        "shape": tell("Shape"),
        "share": tell("Share"),
        "skip": tell("Skip to the parts"),
        "speed": tell("Speed of your schedule"),
        "speedup": tell("Speed-up"),
        "step": tell("Step"),
        "where": tell("Where"),
        "written_by": tell("Written by grader. This page loads nothing and has no script."),
        "yours": tell("Yours"),
    }
