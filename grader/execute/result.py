"""What came out of running a notebook."""

from __future__ import annotations

import msgspec
from nbformat import NotebookNode

from grader.messages import Capture, CaptureFailure
from grader.report import CellProblem, Dialect


class Execution(msgspec.Struct, frozen=True):
    """A notebook that was run.

    `notebook` is the executed copy, with the student's own output and tracebacks. Code cells are
    counted from 1 and as Jupyter's "Run all" counts them: cells without text do not count. `cells`
    is their number, `executed` how many ran to their end without an error. `captures` are in order
    of arrival, `notes` are sentences for the student about what ended the notebook early.
    `dialect` says in which spelling of TVM's names it was handed in; `notebook` is in today's.
    `peak` is how many bytes of memory its kernel has held at most, as far as was looked.
    """

    notebook: NotebookNode
    problems: tuple[CellProblem, ...]
    cells: int
    executed: int
    captures: tuple[Capture | CaptureFailure, ...]
    notes: tuple[str, ...]
    dialect: Dialect = "current"
    peak: int = 0
