"""What each step of a schedule brought: its beginnings, timed beside one another after the points.

`gather` chooses and has them measured, `read` makes factors of the times.
"""
