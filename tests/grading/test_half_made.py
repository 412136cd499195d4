"""A schedule that stops half way: the error comes before the steps that stand behind it."""

from __future__ import annotations

from typing import Any

import pytest

from grader.assignment import CheckTable, PartTable
from grader.checks import kinds as checks
from grader.evidence.case import Stop
from grader.evidence.registry import Outcome, failed, partial, passed
from grader.execute.result import LostCell
from grader.grading.half_made import find_stop, with_other_stop, with_stop
from grader.language import foreign
from grader.messages.kernel import Capture
from grader.report import Check, Origin, Part

assert checks.__all__

STEPS = CheckTable(
    id="steps", kind="schedule_steps", points=4, options={"steps": [{"kind": "split", "points": 4}]}
)
SPEED = CheckTable(id="speed", kind="speed", points=6)
EQUAL = CheckTable(id="equal", kind="equivalence", required=True)
PART = PartTable(
    id="fast", title="Fast", entry_kind="schedule", entry=("sch",), check=(EQUAL, STEPS, SPEED)
)
TEXT = "sch = make()\nsch.vectorize(k)\nsch.split(i, [4, None])"
REFUSED = (
    'vectorize: The "vectorize" cannot be fulfilled with regard to block `sums` because some block'
    " iter whose block binding contains the loop var is not a data parallel block iter"
)
LACKING = partial(0.5, "Not seen: a loop is split.", "Split the loops.")
STOP = Stop(3, 2, "sch.vectorize(k)", REFUSED, foreign("It is a sum."), foreign("Take another."))


def capture(cell: int = 3, trace: bytes | None = b"[]") -> Capture:
    return Capture("fast", "sch", cell, by_name=True, module=b"{}", trace=trace)


def lost(cell: int = 3, text: str = TEXT, **more: Any) -> LostCell:
    told: dict[str, Any] = {"error": "ScheduleError", "message": REFUSED, "line": 2} | more
    return LostCell(cell, text, "failed", **told)


SHOWN = (
    "sch = make()\nsch.split(i, [4, None])\nassert done(sch.mod)  # sch.vectorize(k)\nsch.show()"
)


class TestWhere:
    def test_tvms_sentence_ends_before_the_next_one(self) -> None:
        """TVM's own has no full stop: "... has thread binding The kernels take ..." was told."""
        refused = "fuse: The primitive can't be applied because the loop `y` has thread binding"
        stop = find_stop(PART, capture(), [lost(message=refused)])
        told = with_stop({"steps": LACKING}, [STEPS], stop)["steps"]
        assert "TVM says: " in told.reason.english
        assert "has thread binding. Not seen" in told.reason.english

    def test_of_an_error_that_says_nothing_nothing_is_quoted(self) -> None:
        """A `raise ScheduleError` of one's own was told as "TVM says: ."."""
        stop = find_stop(PART, capture(), [lost(message="")])
        told = with_stop({"steps": LACKING}, [STEPS], stop)["steps"]
        assert "TVM says" not in told.reason.english

    @pytest.mark.parametrize("line", [2, 3])
    def test_any_error_stops_it_where_steps_stand_behind(self, line: int) -> None:
        """A misspelt loop: its author was told to write the step of the next line."""
        undefined = {"error": "NameError", "message": "name 'j' is not defined", "line": line}
        stop = find_stop(PART, capture(), [lost(**undefined)])
        assert stop is not None
        told = with_stop({"steps": LACKING}, [STEPS], stop)["steps"]
        assert "NameError: name 'j' is not defined. Not seen" in told.reason.english
        assert "TVM" not in told.reason.english

    @pytest.mark.parametrize("made", ["s = sch = make()", "sch = make()\ns = sch  # shorter"])
    def test_another_name_of_the_schedule_stops_it_too(self, made: str) -> None:
        text = f"{made}\ns.split(i, [4, None])\ns.vectorize(nothing)"
        error = {"error": "NameError", "message": "name 'nothing' is not defined"}
        stop = find_stop(PART, capture(), [lost(text=text, line=len(text.split("\n")), **error)])
        assert stop is not None
        assert "s.vectorize(nothing)" == stop.step
        later = "t = sch\nt.vectorize(nothing)"
        assert find_stop(PART, capture(), [lost(4, later, line=2, **error)]) is not None

    def test_a_name_of_something_else_does_not_stop_it(self) -> None:
        text = "sch = make()\nt = sch.mod\nt.vectorize(nothing)"
        error = {"error": "NameError", "message": "name 'nothing' is not defined", "line": 3}
        assert find_stop(PART, capture(), [lost(text=text, **error)]) is None

    @pytest.mark.parametrize("step", ['tensorize(k, "sixteen")', 'bind(k, "threadIdx.x")'])
    def test_a_step_that_is_not_replayed_stops_it_too(self, step: str) -> None:
        """Whoever wrote `tensorize` was told to tensorize."""
        error = {"error": "ValueError", "message": "TensorIntrin is not registered", "line": 2}
        stop = find_stop(PART, capture(), [lost(text=f"sch = make()\nsch.{step}", **error)])
        assert stop is not None
        assert f"sch.{step}" == stop.step

    def test_the_advice_for_an_error_that_no_step_is_known_for_is_kept(self) -> None:
        """A step in a file of one's own: the line of that file was not told."""
        refused = lost(message="rfactor: no reducer matches", advice=foreign("Look at line 7."))
        stop = find_stop(PART, capture(), [refused])
        assert stop is not None
        assert "Look at line 7." == stop.remedy.english

    @pytest.mark.parametrize(
        ("last", "is_stop"),
        [("sch.vectorise(k)", True), ("sch.shwo()", False), ("print(sch.mod.scrip())", False)],
    )
    def test_on_the_line_that_raised_a_step_may_be_misspelt(
        self, last: str, *, is_stop: bool
    ) -> None:
        """An error behind all steps costs no points for speed."""
        text = f"sch = make()\nsch.split(i, [4, None])\n{last}"
        missing = {"error": "AttributeError", "message": "no attribute", "line": 3}
        assert is_stop == (find_stop(PART, capture(), [lost(text=text, **missing)]) is not None)

    def test_lines_of_a_script_are_those_of_the_file(self) -> None:
        stop = find_stop(PART, capture(), [lost(line=12, first=11)])
        assert stop is not None
        assert (12, "sch.vectorize(k)") == (stop.line, stop.step)

    def test_the_line_is_told_with_its_text_and_the_reason(self) -> None:
        stop = find_stop(PART, capture(), [lost()])
        assert stop is not None
        assert (3, 2, "sch.vectorize(k)") == (stop.cell, stop.line, stop.step)
        assert "reduction axis of block `sums`" in stop.why.english

    def test_a_later_cell_that_goes_on_with_it_stops_it(self) -> None:
        later = lost(5, "sch.vectorize(k)", line=1)
        assert find_stop(PART, capture(), [later]) is not None

    @pytest.mark.parametrize(
        "cell",
        [
            lost(2),
            lost(5, "other.vectorize(k)"),
            lost(5, "my_sch.vectorize(k)"),
            lost(error="AssertionError", message="not the target", line=3, text=SHOWN),
            LostCell(3, TEXT, "stopped"),
        ],
    )
    def test_nothing_else_does(self, cell: LostCell) -> None:
        assert find_stop(PART, capture(), [cell]) is None

    def test_a_module_that_was_not_scheduled_does_not_stop(self) -> None:
        assert find_stop(PART, capture(trace=None), [lost()]) is None

    def test_of_another_line_than_that_of_the_step_no_text_is_told(self) -> None:
        stop = find_stop(PART, capture(), [lost(line=3)])
        assert stop is not None
        assert stop.step == ""

    def test_an_error_that_is_not_known_is_told_in_its_words(self) -> None:
        stop = find_stop(PART, capture(), [lost(message="rfactor: no reducer matches")])
        assert stop is not None
        told = with_stop({"steps": LACKING}, [STEPS], stop)["steps"]
        assert "rfactor: no reducer matches" in told.reason.english

    @pytest.mark.parametrize(
        ("trace", "told"),
        [
            (
                b'[[["DecomposeReduction", [], [], []]], []]',
                "Move the call of decompose_reduction to the end",
            ),
            (b"[[], []]", "set it under `with T.init():`"),
            (b"[[], []]", "let it read from another buffer than"),
        ],
    )
    def test_of_a_sum_that_nothing_begins_no_decomposition_is_blamed(
        self, trace: bytes, told: str
    ) -> None:
        message = "parallel: The block `Y` is not a complete block - it violates condition #3"
        refused = lost(text="sch.parallel(n)", line=1, message=message)
        stop = find_stop(PART, capture(trace=trace), [refused])
        assert stop is not None
        assert told in stop.remedy.english
        assert ("decompose" in stop.why.english) == (b"Decompose" in trace)

    def test_a_block_that_is_gone_was_inlined_or_tensorized(self) -> None:
        """To decompose a sum takes none away: `_update` was no name that helped."""
        gone = "The block no longer exists in the IRModule"
        refused = lost(error="ValueError", message=gone, text="sch.cache_read(C, 0)", line=1)
        stop = find_stop(PART, capture(), [refused])
        assert stop is not None
        assert "compute_inline leaves nothing of a block" in stop.remedy.english
        assert "loop" not in stop.remedy.english


class TestWhatIsSaid:
    def told(self, **outcomes: Outcome) -> dict[str, Outcome]:
        return with_stop(outcomes, PART.check, STOP)

    def test_the_error_comes_before_what_is_missing(self) -> None:
        found = self.told(equal=passed("Right."), steps=LACKING, speed=passed("Fast."))["steps"]
        assert found.reason.english.startswith("The schedule stops in code cell 3, line 2")
        assert "Not seen" in found.reason.english
        assert found.hint.english.startswith("Take another.")

    def test_its_points_stay(self) -> None:
        found = self.told(equal=passed("Right."), steps=LACKING, speed=passed("Fast."))["steps"]
        assert ("partial", 0.5) == (found.verdict, found.fraction)

    def test_it_is_not_timed(self) -> None:
        found = self.told(equal=passed("Right."), steps=LACKING, speed=passed("Fast."))["speed"]
        assert ("not_graded", "unfinished_cell") == (found.verdict, found.code)

    def test_where_nothing_is_missing_nothing_is_said(self) -> None:
        outcomes = {"equal": passed("Right."), "steps": passed("Done."), "speed": passed("Fast.")}
        assert outcomes == self.told(**outcomes)

    def test_wrong_outputs_are_no_missing_step(self) -> None:
        outcomes = {"equal": failed("Wrong.", "Mend."), "steps": passed(""), "speed": passed("")}
        assert outcomes == self.told(**outcomes)

    def test_without_a_stop_nothing_is_changed(self) -> None:
        assert {"steps": LACKING} == with_stop({"steps": LACKING}, [STEPS], None)


class TestAnotherSchedule:
    """A schedule of the student's stops, and another one earns more."""

    @pytest.mark.parametrize(("cell", "is_told"), [(22, True), (3, False)])
    def test_the_error_comes_before_what_the_graded_one_lacks(
        self, cell: int, *, is_told: bool
    ) -> None:
        lacks = foreign("Not seen: a cache.")
        checks = (
            Check("equal", foreign(""), 0, 0, "passed", foreign("Right."), foreign("")),
            Check("steps", foreign(""), 3, 4, "partial", lacks, foreign("Write a cache.")),
        )
        graded = Part("fast", foreign("Fast"), 3, 10, checks, origin=Origin("sch", cell))
        found = with_other_stop(graded, STOP, PART.check).checks
        assert "Right." == found[0].reason.english
        reason = found[1].reason.english
        assert is_told == reason.startswith("The schedule stops in code cell 3, line 2")
        assert is_told == ("schedule of code cell 22 earns more" in reason)
        assert is_told == ("Take another." in found[1].hint.english)
        assert "Not seen: a cache." in found[1].reason.english
        # What is done and not seen is of the other one.
        assert is_told == ("The rest here is about that schedule." in found[1].reason.english)
