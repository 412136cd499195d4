"""The self-check: `%load_ext grader` and `%grader check` in a student's own notebook.

The kernel only captures (`watch.py`), with the code that captures when a notebook is graded, and
shows what came out (`magic.py`). A process beside it (`checker.py`) does what the referee does.
Nothing here is a boundary of trust: kernel, process and course belong to the same person.
"""
