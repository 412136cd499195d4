"""Grading many submissions: finding them, grading them side by side, keeping their reports."""
