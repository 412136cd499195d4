"""What each check says of a case."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from grader.assignment import ArgumentTable, CheckTable, Computation, TensorTable
from grader.checks.kinds.graph import GraphOptions, call_tir_graph, pure_tir
from grader.checks.kinds.measured import (
    EquivalenceOptions,
    ExternOptions,
    equivalence,
    extern_call,
    speed,
    writes_output,
)
from grader.checks.kinds.python import LowLevelOptions, low_level
from grader.checks.kinds.schedule import (
    StepOptions,
    StepTable,
    schedule_steps,
)
from grader.errors import CourseError
from grader.evidence.case import (
    JudgedLayer,
    Problem,
    Replay,
    StubOutputs,
    TimedSchedule,
)
from grader.evidence.problems import WRITE_THE_BUFFER
from grader.evidence.registry import NoOptions, find_check
from grader.ir.facts import Argument
from grader.language import NOTHING, below, foreign, join
from grader.measurement.points import SpeedOptions
from grader.messages.timing import HotLoop, HotLoops
from grader.report import Step
from tests import sample_reports
from tests.evidence.factory import (
    WEIGHT,
    argument,
    call,
    case,
    convolution,
    init,
    loops,
    module,
    outputs,
    padded_update,
    padding,
    softmax,
    tensor,
    update,
)
from tests.render.diagnoses import DIAGNOSIS

NONE = NoOptions()


def value(source: int) -> Argument:
    """What a call gives, by the call's place."""
    return Argument("value", f"lv{source}", tensor(4, 32, 26, 26), source)


GRAPH = GraphOptions(weights=(WEIGHT,))
EXTERN = ExternOptions(weight=WEIGHT)
CONV = call("tir", "conv2d", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT))
EXTERN_CONV = call(
    "extern", "env.c", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT)
)


class TestCallTirGraph:
    def test_a_graph_of_call_tir_with_all_weights_passes(self):
        assert "passed" == call_tir_graph(case(module(CONV)), GRAPH).verdict

    def test_a_missing_weight_fails_and_is_named(self):
        outcome = call_tir_graph(case(module(call("tir", "relu"))), GRAPH)
        assert ("failed", True) == (outcome.verdict, "(32, 1, 3, 3)" in outcome.reason.english)

    @pytest.mark.parametrize("shape", [(3, 3, 1, 32), (32, 9), (1, 32, 1, 3, 3)])
    def test_a_weight_may_be_given_in_another_order_or_shape(self, shape):
        given = call("tir", "matmul", argument("input", 4, 1), argument("constant", *shape))
        assert "passed" == call_tir_graph(case(module(given)), GRAPH).verdict

    @pytest.mark.parametrize(("counts", "verdict"), [((8, 24), "passed"), ((8, 16), "failed")])
    def test_a_weight_may_be_given_in_parts(self, counts, verdict):
        given = [
            call("tir", "conv2d", argument("input", 4, 1), argument("constant", count, 1, 3, 3))
            for count in counts
        ]
        assert verdict == call_tir_graph(case(module(*given)), GRAPH).verdict

    @pytest.mark.parametrize("shape", [(32, 1, 3), ("n", 9), ()])
    def test_another_constant_is_not_the_weight(self, shape):
        given = call("tir", "matmul", argument("input", 4, 1), argument("constant", *shape))
        assert "failed" == call_tir_graph(case(module(given)), GRAPH).verdict

    def test_an_operator_among_the_calls_costs_half_and_is_named(self):
        outcome = call_tir_graph(case(module(CONV, call("operator", "relax.nn.relu"))), GRAPH)
        assert (0.5, True) == (outcome.fraction, "relax.nn.relu" in outcome.reason.english)

    def test_a_module_without_any_call_fails(self):
        assert "failed" == call_tir_graph(case(module()), GRAPH).verdict


LOOPS = """
def f(x, w):
    y = np.empty(10)
    for i in range(10):
        y[i] = x[i] * w[i]
    return y
"""


class TestLowLevel:
    def judge(self, source, **options):
        one = case(module())
        capture = msgspec.structs.replace(one.candidate.capture, name="f", source=source)
        one = replace(one, candidate=replace(one.candidate, capture=capture))
        return low_level(one, LowLevelOptions(**options))

    def test_loops_over_elements_pass(self):
        assert "passed" == self.judge(LOOPS).verdict

    def test_an_operation_on_a_whole_array_fails_and_is_quoted(self):
        outcome = self.judge(LOOPS.replace("return y", "return y @ w"))
        assert ("failed", True) == (outcome.verdict, "`y @ w`" in outcome.reason.english)

    def test_loops_that_are_not_deep_enough_fail(self):
        outcome = self.judge(LOOPS, loops=2)
        assert ("failed", True) == (outcome.verdict, "1 deep" in outcome.reason.english)

    def test_without_an_allocation_the_given_share_is_left(self):
        text = LOOPS.replace("np.empty(10)", "[0] * 10")
        assert ("partial", 0.5) == (
            self.judge(text, unallocated=0.5).verdict,
            self.judge(text, unallocated=0.5).fraction,
        )
        assert "passed" == self.judge(text).verdict

    @pytest.mark.parametrize("source", ["", "def f(:"])
    def test_a_text_that_is_not_known_is_not_graded(self, source):
        assert "not_graded" == self.judge(source).verdict


class TestPureTir:
    def test_an_extern_fails_and_is_named(self):
        outcome = pure_tir(case(module(EXTERN_CONV)), NONE)
        assert ("failed", True) == (outcome.verdict, "env.c" in outcome.reason.english)


def noise(*, matters: bool = True, inputs_matter: bool = False) -> StubOutputs:
    outputs = np.zeros((2, 4, 10))
    return StubOutputs(outputs, outputs + matters, outputs + inputs_matter)


class TestExternCall:
    def test_an_extern_given_the_weight_whose_result_is_used_passes(self):
        outcome = extern_call(case(module(EXTERN_CONV), stubs=noise()), EXTERN)
        assert "passed" == outcome.verdict

    def test_an_extern_that_never_writes_its_output_computes_nothing(self):
        seen = outputs(softmax(4), softmax(4), unwritten=("env.c",))
        outcome = extern_call(case(module(EXTERN_CONV), stubs=noise(), outputs=seen), EXTERN)
        assert ("failed", "unwritten") == (outcome.verdict, outcome.code)

    def test_another_extern_that_writes_nothing_is_not_its_fault(self):
        seen = outputs(softmax(4), softmax(4), unwritten=("env.other",))
        outcome = extern_call(case(module(EXTERN_CONV), stubs=noise(), outputs=seen), EXTERN)
        assert "passed" == outcome.verdict

    def test_an_extern_whose_result_is_not_used_fails(self):
        outcome = extern_call(case(module(EXTERN_CONV), stubs=noise(matters=False)), EXTERN)
        assert "failed" == outcome.verdict

    def test_an_extern_that_holds_its_weight_itself_passes(self):
        own = call("extern", "env.c", argument("input", 4, 1, 28, 28))
        assert "passed" == extern_call(case(module(own), stubs=noise()), EXTERN).verdict

    @pytest.mark.parametrize("order", [1, -1])
    def test_a_convolution_inside_the_module_fails_even_beside_an_extern(self, order):
        calls = (CONV, EXTERN_CONV, call("extern", "env.copy", argument("value", 4, 32, 26, 26)))
        facts = module(*calls[::order])
        outcome = extern_call(case(facts, stubs=noise()), EXTERN)
        assert ("failed", True) == (outcome.verdict, "conv2d" in outcome.reason.english)

    def test_no_extern_at_all_fails(self):
        assert "failed" == extern_call(case(module(CONV)), EXTERN).verdict

    def test_an_input_may_go_past_the_extern_where_the_assignment_does_not_mind(self):
        outcome = extern_call(case(module(EXTERN_CONV), stubs=noise(inputs_matter=True)), EXTERN)
        assert "passed" == outcome.verdict


class TestThroughExtern:
    THROUGH = ExternOptions(weight=WEIGHT, through=True)

    def judge(self, *calls, result=None, **seen):
        facts = module(*calls)
        last = len(calls) - 1
        facts = msgspec.structs.replace(facts, result=result or value(last))
        return extern_call(case(facts, stubs=noise(**seen)), self.THROUGH)

    def test_a_chain_with_the_extern_first_passes(self):
        assert "passed" == self.judge(EXTERN_CONV, call("tir", "relu", value(0))).verdict

    def test_a_chain_with_the_extern_last_passes(self):
        padded = call("tir", "pad", argument("input", 4, 1, 26, 26))
        last = call("extern", "env.c", value(0), argument("constant", *WEIGHT))
        assert "passed" == self.judge(padded, last).verdict

    def test_an_extern_called_for_each_half_passes(self):
        both = call("tir", "concatenate", value(0), value(1))
        assert "passed" == self.judge(EXTERN_CONV, EXTERN_CONV, both).verdict

    def test_a_run_in_which_inputs_matter_fails_whatever_the_graph_shows(self):
        outcome = self.judge(EXTERN_CONV, inputs_matter=True)
        assert ("failed", True) == (outcome.verdict, "bypasses it" in outcome.reason.english)

    def test_a_way_around_the_extern_fails_whatever_the_run_shows(self):
        own = call("tir", "own", argument("input", 4, 1, 28, 28))
        total = call("tir", "choose", value(0), value(1))
        assert "failed" == self.judge(EXTERN_CONV, own, total).verdict

    def test_a_way_through_another_extern_is_a_way_around(self):
        other = call("extern", "env.all", argument("input", 4, 1, 28, 28))
        total = call("tir", "choose", value(0), value(1))
        assert "failed" == self.judge(EXTERN_CONV, other, total).verdict

    def test_what_comes_from_an_if_may_come_from_the_input(self):
        chosen = Argument("value", "chosen", tensor(4, 32, 26, 26))
        assert "failed" == self.judge(EXTERN_CONV, call("tir", "relu", chosen)).verdict

    def test_the_input_as_the_output_fails(self):
        outcome = self.judge(EXTERN_CONV, result=argument("input", 4, 1, 28, 28))
        assert "failed" == outcome.verdict

    def test_work_that_nothing_comes_of_is_no_way_around(self):
        own = call("tir", "own", argument("input", 4, 1, 28, 28))
        assert "passed" == self.judge(EXTERN_CONV, own, result=value(0)).verdict

    def test_the_shape_of_the_input_is_not_the_input(self):
        shape = call("operator", "relax.shape_of", argument("input", 4, 1, 28, 28))
        flat = call("operator", "relax.reshape", value(0), value(1))
        assert "passed" == self.judge(EXTERN_CONV, shape, flat).verdict


class TestWritesOutput:
    def test_an_unwritten_buffer_fails_and_names_the_extern(self):
        bad = outputs(softmax(4), softmax(4), unwritten=("env.c",))
        outcome = writes_output(case(module(EXTERN_CONV), outputs=bad), NONE)
        assert ("failed", True) == (outcome.verdict, "env.c" in outcome.reason.english)

    def test_what_to_do_is_said_in_the_language_of_the_rest(self):
        bad = outputs(softmax(4), softmax(4), unwritten=("env.c",))
        outcome = writes_output(case(module(EXTERN_CONV), outputs=bad), NONE)
        assert WRITE_THE_BUFFER == outcome.hint
        assert outcome.hint.english != outcome.hint.in_("ko")

    def test_wrong_but_written_values_pass(self):
        written = outputs(np.zeros((4, 10)), softmax(4))
        assert "passed" == writes_output(case(module(EXTERN_CONV), outputs=written), NONE).verdict

    def test_a_module_that_did_not_run_is_not_graded(self):
        outcome = writes_output(
            case(module(EXTERN_CONV), outputs=Problem(foreign("It crashed."))), NONE
        )
        assert ("not_graded", "It crashed.") == (outcome.verdict, outcome.reason.english)


class TestEquivalence:
    def judge(self, actual, desired=None):
        desired = softmax(6) if desired is None else desired
        return equivalence(
            case(module(CONV), outputs=outputs(actual, desired)), EquivalenceOptions()
        )

    def test_equal_outputs_pass(self):
        assert "passed" == self.judge(softmax(6).astype(np.float32)).verdict

    def test_a_difference_beyond_the_tolerance_in_one_sample_fails(self):
        actual = softmax(6).astype(np.float32)
        actual[3, 2] += 1e-3
        outcome = self.judge(actual)
        assert ("failed", True) == (outcome.verdict, "1 of 6" in outcome.reason.english)

    def test_half_precision_fails(self):
        outcome = self.judge(softmax(6).astype(np.float16).astype(np.float32))
        assert "failed" == outcome.verdict

    def test_another_shape_fails_before_values_are_compared(self):
        outcome = self.judge(np.zeros((6, 1, 10), np.float32))
        assert ("failed", True) == (outcome.verdict, "shape" in outcome.reason.english)

    def test_another_dtype_fails(self):
        assert "failed" == self.judge(softmax(6)).verdict

    def test_nan_fails_and_is_called_so(self):
        outcome = self.judge(np.full((6, 10), np.nan, np.float32))
        assert ("failed", True) == (outcome.verdict, "NaN" in outcome.reason.english)

    @pytest.mark.parametrize(("right", "verdict"), [(True, "partial"), (False, "failed")])
    def test_wrong_values_are_called_so_whether_or_not_layers_earn_points(self, right, verdict):
        layers = (JudgedLayer("linear1", right), JudgedLayer("linear2", False))
        actual = outputs(softmax(6).astype(np.float32)[::-1], softmax(6))
        options = EquivalenceOptions(partial="steps")
        outcome = equivalence(case(module(CONV), outputs=actual, layers=layers), options)
        assert (verdict, "values") == (outcome.verdict, outcome.code)

    @pytest.mark.parametrize(
        ("mistake", "told"),
        [
            ("other_operand", "Points are lost, because the result is not used, for: relu."),
            ("", "Points are lost for: relu."),
        ],
    )
    def test_a_layer_whose_result_nobody_takes_is_said_to_be_that(self, mistake, told):
        steps = (
            Step("lv0", "linear0", (1, 8), "right", foreign("linear")),
            Step("lv1", "relu0", (1, 8), "right", foreign("relu")),
            Step("out", "linear1", (1, 3), "wrong", NOTHING),
        )
        diagnosis = msgspec.structs.replace(DIAGNOSIS, steps=steps, wrong=2, mistake=mistake)
        layers = tuple(JudgedLayer(name, name != "relu") for name in ("linear", "relu", "linear"))
        actual = outputs(softmax(6).astype(np.float32)[::-1], softmax(6))
        found = case(module(CONV), outputs=actual, layers=layers, diagnosis=diagnosis)
        outcome = equivalence(found, EquivalenceOptions(partial="steps"))
        assert told in outcome.reason.english

    @pytest.mark.parametrize(
        ("wanted", "is_told"), [((1, 16, 14, 14), True), ((1, 16, 7, 7), False), (None, False)]
    )
    def test_what_has_other_shapes_is_not_said_to_be_wrong_on_pytorchs_values(
        self, wanted: tuple[int, ...] | None, is_told: bool
    ) -> None:
        """A stride of 2: nothing after it can be given PyTorch's values."""
        steps = (
            Step("lv", "conv2d", (1, 16, 7, 7), "wrong"),
            Step("lv1", "relu", (1, 16, 7, 7), "follows"),
        )
        changed = {"steps": steps, "wrong": 0, "wanted": wanted, "mistake": "convolution_stride"}
        diagnosis = msgspec.structs.replace(DIAGNOSIS, **changed)
        layers = (JudgedLayer("conv2d", False), JudgedLayer("relu", False))
        actual = outputs(softmax(6).astype(np.float32)[::-1], softmax(6))
        found = case(module(CONV), outputs=actual, layers=layers, diagnosis=diagnosis)
        outcome = equivalence(found, EquivalenceOptions(partial="steps"))
        told = "whose input has a different shape than in PyTorch cannot be tried"
        assert is_told == (told in outcome.reason.english)

    def test_a_layer_that_is_lost_for_the_one_before_it_is_said_to_be_that(self) -> None:
        """In another order, or halved: the linear layer itself gives the right result."""
        layers = (JudgedLayer("relu", True), JudgedLayer("linear", False, "flatten"))
        actual = outputs(softmax(6).astype(np.float32)[::-1], softmax(6))
        found = case(module(CONV), outputs=actual, layers=layers)
        outcome = equivalence(found, EquivalenceOptions(partial="steps"))
        assert "lost for: linear with the flatten before it." in outcome.reason.english

    def test_it_is_said_where_no_layer_could_be_compared(self):
        actual = outputs(softmax(6).astype(np.float32)[::-1], softmax(6))
        options = EquivalenceOptions(partial="steps")
        outcome = equivalence(case(module(CONV), outputs=actual), options)
        assert "No layer earns points by itself" in outcome.reason.english

    def test_a_diagnosis_says_where_and_what_to_do(self):
        actual = outputs(np.zeros((6, 10), np.float32), softmax(6))
        evidence = {"outputs": actual, "diagnosis": DIAGNOSIS}
        outcome = equivalence(case(module(CONV), **evidence), EquivalenceOptions())
        assert ("failed", DIAGNOSIS.advice) == (outcome.verdict, outcome.hint)
        message, seen = DIAGNOSIS.message.english, "6 of 6 samples differ from the right outputs"
        assert outcome.reason.english.startswith(f"{message} {seen}")

    def test_a_run_that_failed_is_diagnosed_too(self):
        evidence = {
            "outputs": Problem(foreign("It crashed."), foreign("Look.")),
            "diagnosis": DIAGNOSIS,
        }
        outcome = equivalence(case(module(CONV), **evidence), EquivalenceOptions())
        assert ("not_graded", DIAGNOSIS.advice) == (outcome.verdict, outcome.hint)
        assert join(foreign("It crashed."), DIAGNOSIS.message) == outcome.reason

    def test_a_run_that_ended_in_an_error_is_diagnosed_below_its_message(self):
        """Whatever the message ends in: it is not ours, and nothing of it is looked at."""
        for message in ("no such thing", "No such thing."):
            problem = Problem(foreign(message), quotes=True, code="run_failed")
            evidence = {"outputs": problem, "diagnosis": DIAGNOSIS}
            outcome = equivalence(case(module(CONV), **evidence), EquivalenceOptions())
            assert below(foreign(message), DIAGNOSIS.message) == outcome.reason
            assert "run_failed" == outcome.code

    def test_a_constant_output_is_called_so(self):
        assert "same everywhere" in self.judge(np.zeros((6, 10), np.float32)).hint.english


def paid(**points: float) -> StepOptions:
    """Options that give points for steps of the convolution."""
    return StepOptions(tuple(StepTable(*each) for each in points.items()), WEIGHT)


class TestScheduleSteps:
    OPTIONS = paid(inline=3, reorganize=4, decompose=4, annotate=4)

    def judge(self, *blocks, options=OPTIONS, **evidence):
        functions = {"conv2d": convolution(*blocks)}
        return schedule_steps(case(module(CONV, functions=functions), **evidence), options)

    def test_all_steps_earn_everything(self):
        nest = loops(128, 26, 26, 9, kind="vectorized")
        assert "passed" == self.judge(init(), update(nest, has_init=False)).verdict

    def test_a_scheduled_function_beside_one_that_is_not_earns_nothing(self):
        nest = loops(128, 26, 26, 9, kind="vectorized")
        functions = {
            "conv2d": convolution(init(), update(nest, has_init=False)),
            "other": convolution(padding(), padded_update()),
        }
        other = call("tir", "other", argument("input", 4, 1, 28, 28), argument("constant", *WEIGHT))
        outcome = schedule_steps(case(module(CONV, other, functions=functions)), self.OPTIONS)
        assert ("failed", 0) == (outcome.verdict, outcome.fraction)

    def test_each_missing_step_is_named_and_the_most_worthwhile_is_the_hint(self):
        outcome = self.judge(update(loops(128, 26, 26, 9)))
        assert 7 / 15 == outcome.fraction
        assert "decomposed" in outcome.reason.english
        assert outcome.hint.english.startswith("Vectorize")

    def test_the_hint_names_what_earns_most(self):
        options = paid(inline=3, reorganize=4, decompose=5, annotate=4)
        assert "decompose_reduction" in self.judge(update(), options=options).hint.english

    def test_steps_may_be_paid_one_by_one(self):
        nest = (*loops(4, kind="parallel"), *loops(32, 26, 2, 13, 3, 3))
        axes = ((0,), (1,), (2,), (3,), (3,), (), ())
        block = update(nest)
        store = msgspec.structs.replace(block.statements[0], axes=axes)
        options = paid(split=1, reorder=2, parallel=4, unroll=8)
        outcome = self.judge(msgspec.structs.replace(block, statements=(store,)), options=options)
        assert 5 / 15 == outcome.fraction
        done, _, missing = outcome.reason.english.partition("Not seen")
        assert "split" in done and "parallel" in done
        assert "reordered" in missing and "unrolled" in missing
        assert outcome.hint.english.startswith("Unroll")

    def test_a_block_that_lacks_what_another_one_has_is_named(self):
        parallel = (*loops(4, kind="parallel"), *loops(32, 26, 26, 1, 3, 3))
        serial = msgspec.structs.replace(update(), name="conv2")
        outcome = self.judge(update(parallel), serial, options=paid(parallel=1, unroll=1))
        assert 0 == outcome.fraction
        missing = "Not seen: a loop is unrolled. Not seen in `conv2`: a loop is parallel."
        assert missing in outcome.reason.english
        hint = "Run the outermost loop in parallel. Do so in `conv2`, too."
        assert hint == outcome.hint.english

    def test_scattered_stores_are_no_vector_stores_and_are_called_so(self):
        options = paid(vectorize=1, annotate=1)
        block = update(loops(4, 32, 26, 26, 3, 3, kind="vectorized"))
        for stride, fraction in ((1, 1.0), (26, 0.5), (None, 0.5)):
            store = msgspec.structs.replace(block.statements[0], lane_stride=stride)
            changed = msgspec.structs.replace(block, statements=(store,))
            outcome = self.judge(changed, options=options)
            assert (fraction, fraction < 1) == (
                outcome.fraction,
                "scattered" in outcome.reason.english,
            )
            assert ("last axis" in outcome.hint.english) == (fraction < 1)

    def test_a_step_that_earns_nothing_is_not_spoken_of(self):
        outcome = self.judge(update(), options=paid(split=1))
        assert "failed" == outcome.verdict
        assert "split" in outcome.reason.english
        assert "parallel" not in outcome.reason.english

    def test_a_proven_schedule_is_called_so(self):
        scheduled = update(loops(128, 26, 26, 9))
        many = self.judge(scheduled, replay=Replay(proven=True, steps=5))
        assert "proven: its 5 steps" in many.reason.english
        one = self.judge(scheduled, replay=Replay(proven=True, steps=1))
        assert "its one step, applied to the unscheduled module, gives" in one.reason.english

    def test_one_that_is_not_proven_was_graded_on_its_result_and_says_why(self):
        replay = Replay(proven=False, reason=foreign("its trace could not be replayed"))
        outcome = self.judge(update(loops(128, 26, 26, 9)), replay=replay)
        assert "on its result: its trace could not be replayed" in outcome.reason.english
        assert 7 / 15 == outcome.fraction

    def test_where_nothing_was_done_there_is_nothing_to_prove(self):
        outcome = self.judge(
            padding(), padded_update(), replay=Replay(proven=False, reason=foreign("x"))
        )
        assert "result alone" not in outcome.reason.english

    @pytest.mark.parametrize(
        ("options", "complaint"),
        [
            ({"weight": [32, 1, 3, 3]}, "the key `steps` is missing"),
            ({"steps": []}, "no step has points"),
            ({"steps": [{"kind": "split", "points": 0}]}, "no step has points"),
            ({"steps": [{"kind": "split", "points": 1}] * 2}, "the step `split` is there twice"),
            ({"steps": [{"kind": "inline", "points": 1}]}, "`inline` is for a convolution"),
            (
                {"steps": [{"kind": "vectorise", "points": 1}]},
                "there is no step `vectorise`, but inline, .*vectorize, ",
            ),
        ],
    )
    def test_steps_that_cannot_be_asked_for_are_refused(self, options, complaint):
        table = CheckTable(id="steps", kind="schedule_steps", options=options)
        with pytest.raises(CourseError, match=complaint):
            find_check(table).parse(table)


NO_LOOPS = HotLoops()
WIDE = HotLoop(54, 864, 512, loads=27, stores=6, spills=0, reloads=0)
SCALAR = HotLoop(54, 54, 32, loads=27, stores=6, spills=0, reloads=0)


class TestSpeed:
    """The reference is about six times as fast as the unscheduled function."""

    OPTIONS = SpeedOptions(weight=WEIGHT, full_at=0.9, bonus=0.1, stretch=1.5)

    def judge(
        self,
        share=0.6,
        width=0.01,
        right=True,
        options=OPTIONS,
        floor_us=1.0,
        us=10.0,
        hot_loops=NO_LOOPS,
    ):
        low, high = share - width / 2, share + width / 2
        reference = sample_reports.TIMING.reference_speedup
        timing = msgspec.structs.replace(
            sample_reports.TIMING,
            shapes=(
                msgspec.structs.replace(sample_reports.SHAPE, floor_us=floor_us, submission_us=us),
            ),
            share=share,
            share_low=low,
            share_high=high,
            speedup=reference**share,
            ci_low=reference**low,
            ci_high=reference**high,
        )
        timed = TimedSchedule(timing, right, hot_loops)
        return speed(case(module(CONV), timed=timed), options)

    def test_a_faster_schedule_earns_a_share(self):
        outcome = self.judge(share=0.6)
        assert ("partial", 0.6 / 0.9) == (outcome.verdict, pytest.approx(outcome.fraction))
        assert "3.06 times as fast as the unscheduled one" in outcome.reason.english
        assert outcome.hint

    @pytest.mark.parametrize("share", [0.9, 1.0, 1.1])
    def test_one_as_fast_as_the_reference_earns_everything(self, share):
        outcome = self.judge(share=share)
        assert ("passed", 1.0) == (outcome.verdict, pytest.approx(outcome.fraction))

    def test_one_that_is_faster_still_earns_a_bonus(self):
        assert 1.0 < self.judge(share=1.15).fraction < self.judge(share=1.5).fraction
        assert 1.1 == pytest.approx(self.judge(share=1.5).fraction)
        assert "passed" == self.judge(share=1.5).verdict

    def test_a_slower_schedule_earns_nothing_and_is_told_why(self):
        outcome = self.judge(share=-0.5)
        assert ("failed", 0.0) == (outcome.verdict, outcome.fraction)
        assert "slower than the unscheduled function" in outcome.reason.english
        assert "vectorizes the unscheduled loops by itself" in outcome.reason.english
        assert "Undo steps until it is no longer slower" in outcome.hint.english

    @pytest.mark.parametrize("share", [0.6, -0.5])
    def test_a_hot_loop_that_does_less_at_a_time_is_told_beside_the_faster_one(self, share):
        outcome = self.judge(share=share, hot_loops=HotLoops(WIDE, SCALAR, WIDE))
        assert "multiplies one number per instruction" in outcome.reason.english

    def test_what_machine_code_shows_is_told_in_place_of_a_guess(self):
        outcome = self.judge(share=-0.5, hot_loops=HotLoops(WIDE, SCALAR, WIDE))
        assert "The likely reason" not in outcome.reason.english
        assert "slower than the unscheduled function. The hot loop" in outcome.reason.english

    def test_with_all_points_nothing_is_explained(self):
        outcome = self.judge(share=0.95, hot_loops=HotLoops(None, SCALAR, WIDE))
        assert "hot loop" not in outcome.reason.english

    def test_the_advice_is_what_was_measured(self):
        """No step of which it is not known what it brings here: what the reference does as a whole,
        and how much less the unscheduled function takes."""
        slow, slower = self.judge(share=0.6), self.judge(share=-0.5)
        assert slow.hint.english.startswith(
            "The reference schedule, measured beside yours, is faster"
        )
        assert "needs 0.39 times the time of yours" in slower.hint.english

    @pytest.mark.parametrize(
        ("kind", "threads", "cause"),
        [
            ("parallel", 1, "the compiler vectorizes the unscheduled loops by itself"),
            ("parallel", 2, "takes longer than doing them"),
            ("vectorized", 2, "to scattered addresses"),
        ],
    )
    def test_what_slows_it_down_is_seen_in_its_loops(self, kind, threads, cause):
        function = convolution(update(loops(4, 32, 26, 26, 9, kind=kind)))
        timing = msgspec.structs.replace(sample_reports.TIMING, ci_high=0.9, threads=threads)
        facts = module(CONV, functions={"conv2d": function})
        outcome = speed(case(facts, timed=TimedSchedule(timing, True)), self.OPTIONS)
        assert cause in outcome.reason.english

    def test_what_is_missing_to_all_points_is_said(self):
        assert "5.36" in self.judge(share=0.6).reason.english
        assert "Full points" not in self.judge(share=1.0).reason.english

    def test_one_that_may_be_as_fast_as_the_unscheduled_is_not_called_slower(self):
        outcome = self.judge(share=-0.001, width=0.01)
        assert ("failed", 0.0) == (outcome.verdict, outcome.fraction)
        assert "slower" not in outcome.reason.english

    @pytest.mark.parametrize(
        ("share", "width", "interval"),
        [(0.45, 0.09, 0.1), (0.45, 0.0, 0.0), (1.0, 0.1, 0.0), (0.9, 0.09, 0.05), (-1, 0.1, 0.0)],
    )
    def test_it_says_how_far_points_are_uncertain(self, share, width, interval):
        assert interval == pytest.approx(self.judge(share=share, width=width).interval)

    def test_it_says_how_far_the_interval_goes_beyond_the_share(self):
        assert pytest.approx(0.05) == self.judge(share=0.45, width=0.09).above

    def test_a_schedule_that_is_too_good_is_held_for_the_instructor(self):
        outcome = self.judge(share=1.9)
        assert ("not_graded", 0.0) == (outcome.verdict, outcome.fraction)
        assert "your instructor reviews it" in outcome.reason.english
        assert "More than 4 times the reference's speed" in outcome.reason.english

    def test_one_that_may_be_within_what_is_believed_is_not(self):
        assert "passed" == self.judge(share=1.78, width=0.1).verdict

    def test_what_is_believed_is_an_option(self):
        strict = SpeedOptions(weight=WEIGHT, held_above=1.2)
        assert "not_graded" == self.judge(share=1.4, options=strict).verdict

    def test_one_that_is_faster_than_the_machine_can_be_is_held_too(self):
        outcome = self.judge(floor_us=12.0, us=10.0)
        assert ("not_graded", 0.0) == (outcome.verdict, outcome.fraction)
        assert (
            "faster than this machine can multiply and add (15 GFLOP/s)" in outcome.reason.english
        )
        assert "move the arrays (22 GB/s)" in outcome.reason.english
        assert "your instructor reviews it" in outcome.reason.english

    def test_the_machines_limit_is_known_to_a_tenth(self):
        assert "partial" == self.judge(floor_us=10.9, us=10.0).verdict

    def test_wrong_timed_outputs_earn_nothing(self):
        outcome = self.judge(share=1.0, right=False)
        assert ("failed", 0.0) == (outcome.verdict, outcome.fraction)

    def test_what_could_not_be_timed_is_not_graded(self):
        busy = speed(
            case(module(CONV), timed=Problem(foreign("Too busy."), foreign("Again."))), self.OPTIONS
        )
        assert ("not_graded", "Too busy.", "Again.") == (
            busy.verdict,
            busy.reason.english,
            busy.hint.english,
        )
        assert "not_graded" == speed(case(module(CONV)), self.OPTIONS).verdict

    @pytest.mark.parametrize(
        ("off", "weight", "has_main", "is_course"),
        [
            (0, (), False, True),
            (1, (), False, False),
            (0, (), True, False),
            (0, (32, 1, 3, 3), False, False),
        ],
    )
    def test_a_right_function_is_not_blamed_for_another_baseline(
        self, off, weight, has_main, is_course
    ):
        """Of a whole model, right outputs do not say that the timed function is the convolution,
        nor behind a `main`, which may transpose what its function takes.
        """
        found = outputs(softmax(6).astype(np.float32) + np.float32(off), softmax(6))
        assert is_course == self.blames_the_course(found, has_main=has_main, weight=weight)

    def test_integers_that_are_only_nearly_right_are_no_fault_of_the_baseline(self):
        """Times are of equal integers only; the course allows for another rounding."""
        right = np.arange(60, dtype=np.int8).reshape(6, 10)
        is_off = [self.blames_the_course(outputs(right + by, right)) for by in (0, np.int8(1))]
        assert [True, False] == is_off

    @staticmethod
    def blames_the_course(found, *, has_main=False, weight=()):
        other = Problem(foreign("Another."), foreign("Mend it."), code="other_computation")
        facts = msgspec.structs.replace(module(CONV), has_main=has_main)
        dtype, allowed = str(found.actual.dtype), float(found.actual.dtype.kind == "i")
        result = TensorTable((10,), dtype)
        comparison = Computation("f", (ArgumentTable((10,)),), (result,), atol=allowed)
        judged = replace(case(facts, timed=other, outputs=found), comparison=comparison)
        outcome = speed(judged, SpeedOptions(weight=weight))
        assert "not_graded" == outcome.verdict
        is_blamed = "course's unscheduled function" in outcome.reason.english
        assert ("other_baseline" if is_blamed else "other_computation") == outcome.code
        return is_blamed


class TestSpeedOptions:
    def parse(self, **options):
        table = CheckTable(
            id="speed", kind="speed", points=15, options={"weight": [32, 1, 3, 3], **options}
        )
        return find_check(table).parse(table)

    def test_points_are_certain_to_the_grid_when_rounds_end(self):
        options = self.parse(full_at=0.9, grid=0.1)
        assert 0.9 * 0.1 / 15 == pytest.approx(options.resolution(15.0))
        assert 0.9 == pytest.approx(options.resolution(0.0))

    def test_without_a_bonus_nothing_beyond_full_points_is_worth_rounds(self):
        assert (0.9, 2.0) == self.parse(full_at=0.9).full
        assert (0.9, 1.1) == pytest.approx(self.parse(full_at=0.9, bonus=0.1).full)

    @pytest.mark.parametrize(
        "options",
        [
            {"minimum_rounds": 5},
            {"maximum_rounds": 11},
            {"control_rounds": 2},
            {"batches": list(range(1, 9))},
            {"grid": 0.0},
            {"stretching": 2.0},
        ],
    )
    def test_what_could_never_give_a_grade_is_the_courses_error(self, options):
        with pytest.raises(CourseError, match="options"):
            self.parse(**options)
