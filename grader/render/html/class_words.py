"""Headings and fixed sentences of a class's page."""

from __future__ import annotations

import functools

from grader.language import Text, say
from grader.render.html.words import words as report_words
from grader.render.speech import tell


@functools.cache
def _texts() -> dict[str, Text]:
    return {
        "all_students": say("Students"),
        "attempt": say("Attempt"),
        "attempts": say("Attempts"),
        "attempts_title": say("Attempts over time"),
        "cells": say("Code cells"),
        "concerns": say("Who needs a look"),
        "day": say("Day"),
        "distribution": say("Points"),
        "error": say("Error"),
        "example": say("For example:"),
        "failures": say("Where notebooks fail"),
        "failures_note": say(
            "By the heading above the cell, since students add cells of their own. What fails"
            " first is often the cause of the rest."
        ),
        "first": say("First"),
        "for_you": say("For instructors: it has names and points. Keep it from students."),
        "handed_in": say("Handed in"),
        "how_often": say("How often"),
        "longest": say("Longest"),
        "median": say("Median"),
        "mistake": say("Mistake"),
        "mistakes": say("What was misunderstood"),
        "mistakes_note": say(
            "The first step at which a module departs from PyTorch. A student counts once for each"
            " mistake, in however many parts."
        ),
        "missing": say("Handed in nothing"),
        "no_concerns": say("Nobody."),
        "no_failures": say("No cell ended in an error."),
        "no_mistakes": say("No module departs from PyTorch."),
        "page": say("Page"),
        "passed": say("Passed"),
        "points_of_parts": say("Parts and checks"),
        "reference": say("reference"),
        "interval_of_a_schedule": say("a schedule, with its 95 % interval"),
        "section": say("Section"),
        "skip_class": say("Skip to what was misunderstood"),
        "speeds": say("Speed-ups"),
        "stage": say("Stage"),
        "stages": say("What grading took"),
        "reason": say("Reason"),
        "student": say("Student"),
        "without_lines": say("The page would become too large with the lines of the others:"),
        "who": say("Who"),
    }


def class_words() -> dict[str, str]:
    """Return the words of the template by their names, those of a student's page among them."""
    return report_words() | {name: tell(text) for name, text in _texts().items()}
