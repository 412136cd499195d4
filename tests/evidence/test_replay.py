"""From a capture to proof: honest schedules are proven, everything else says why it is not."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import numpy as np
import pytest
import tvm
from tvm import s_tir, te

from grader.errors import ProtocolError
from grader.evidence import replay as proving
from grader.evidence.case import Candidate, Replay
from grader.evidence.replay import gather_replay
from grader.evidence.subject import Subject
from grader.language import NOTHING, foreign
from grader.messages.runner import ReplayResult, ReplayTrace, TaskFailure
from tests.evidence import products, schedules
from tests.evidence.factory import ORACLE
from tests.evidence.schedules import WEIGHT, candidate, read_candidate
from tests.ir import modules
from tests.ir.test_rewriting import convolve, draw, run

CONVOLUTION = Subject(WEIGHT, ORACLE)


def gather(subject: Candidate, batches: tuple[int, ...] = (8, 16), runners: Any = None) -> Replay:
    return gather_replay(subject, CONVOLUTION, batches, runners or schedules.Runners())


def honest() -> Candidate:
    return candidate(schedules.model(), schedules.schedule_topi)


class Answering:
    """Runners that answer everything alike, as one that was taken over might."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def request(self, kind: str, task: ReplayTrace) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class TestProof:
    def test_an_honest_schedule_is_proven(self):
        found = gather(honest())
        assert (True, NOTHING, 8) == (found.proven, found.reason, found.steps)

    def test_a_proven_schedule_comes_with_both_texts_of_its_function(self):
        scripts = gather(honest()).scripts
        assert scripts is not None
        assert "conv2d" == scripts.function
        assert "T.vectorized" in scripts.after
        assert "T.vectorized" not in scripts.before

    @pytest.mark.parametrize("answer", [ReplayResult("equal"), ReplayResult("equal", before="x")])
    def test_without_texts_a_schedule_is_proven_all_the_same(self, answer):
        found = gather(honest(), runners=Answering(answer))
        assert (True, None) == (found.proven, found.scripts)

    def test_a_schedule_that_is_not_proven_has_none(self):
        answer = ReplayResult("differs", ("conv2d",), before="x", after="y")
        assert None is gather(honest(), runners=Answering(answer)).scripts

    @pytest.mark.parametrize("name", ["conv2d", "conv2d_1", "Conv2d_topi", "my_conv2d"])
    def test_the_convolution_may_have_any_name(self, name):
        def schedule(sch: Any) -> None:
            schedules.schedule_topi(sch, name)

        found = gather(candidate(schedules.model(name=name), schedule))
        assert (True, [name] * 2) == (found.proven, [each.function for each in found.larger])

    def test_steps_on_other_functions_are_replayed_too(self):
        def schedule(sch: Any) -> None:
            schedules.schedule_topi(sch)
            sch.parallel(sch.get_loops(sch.get_sblock("compute", "relu"))[0])

        found = gather(candidate(schedules.model(), schedule))
        assert (True, 9, 2) == (found.proven, found.steps, len(found.larger))

    def test_one_runner_does_it_all(self):
        runners = schedules.Runners()
        gather(honest(), runners=runners)
        assert 1 == len(runners.tasks)


class TestByHand:
    """Why a schedule is not proven."""

    def reason(self, subject: Candidate, runners: Any = None) -> str:
        found = gather(subject, runners=runners)
        assert (False, ()) == (found.proven, found.larger)
        return found.reason.english

    def test_a_module_without_a_trace(self):
        made = honest().capture
        assert proving.NO_TRACE.english == self.reason(read_candidate(made.module, made.base, None))

    def test_a_module_whose_beginning_is_not_known(self):
        made = honest().capture
        assert proving.NO_BASE.english == self.reason(read_candidate(made.module, None, made.trace))

    def test_a_schedule_that_did_nothing(self):
        subject = candidate(schedules.model(), lambda sch: sch.get_sblock("conv2d_nchw", "conv2d"))
        assert proving.NO_STEPS.english == self.reason(subject)

    def test_a_module_that_was_changed_before(self):
        """The student scheduled one part, and made a new Schedule of the result."""
        first = s_tir.Schedule(schedules.model())
        schedules.schedule_topi(first)

        def rest(sch: Any) -> None:
            sch.parallel(sch.get_loops(sch.get_sblock("compute", "relu"))[0])

        assert proving.CHANGED_BASE.english == self.reason(candidate(first.mod, rest))

    def test_a_module_that_was_changed_after(self):
        def swap(module: Any) -> Any:
            module["conv2d"] = schedules.model()["conv2d"]
            return module

        subject = candidate(schedules.model(), schedules.schedule_topi, swap)
        assert self.reason(subject).endswith("than the submitted one: `conv2d` differs")

    def test_a_convolution_that_is_not_there_in_the_beginning(self):
        made = honest().capture
        for base in (modules.save(modules.product_module(16)), modules.save(modules.conv_model())):
            subject = read_candidate(made.module, base, made.trace)
            assert proving.BAD_BASE.english == self.reason(subject)

    def test_a_trace_of_something_else(self):
        made = honest().capture
        trace = json.dumps(
            [
                [
                    ["GetSBlock", [], ["nobody", "conv2d"], ["b0"]],
                    ["ComputeInline", ["b0"], [], []],
                ],
                [],
            ]
        ).encode()
        reason = self.reason(read_candidate(made.module, made.base, trace))
        assert (
            f"{proving.NOT_REPLAYED.english} (Cannot find a block with the specified name)"
            == reason
        )

    def test_a_trace_that_is_refused_is_given_to_nobody(self):
        made = honest().capture
        trace = json.dumps(
            [
                [
                    ["GetSBlock", [], ["conv2d_nchw", "conv2d"], ["b0"]],
                    ["Annotate", ["b0", '"define"'], ["pragma_import_llvm"], []],
                ],
                [],
            ]
        ).encode()
        runners = schedules.Runners()
        reason = self.reason(read_candidate(made.module, made.base, trace), runners)
        assert "`pragma_import_llvm` cannot be replayed here" in reason
        assert [] == runners.tasks

    def test_steps_that_tvm_would_not_have_allowed(self):
        """With `enable_check=False` a schedule may do what changes the result."""
        module = schedules.model("hand_written")
        made = s_tir.Schedule(module, enable_check=False)
        block = made.get_sblock("mine", "conv2d")
        *_, column, row, _ = made.get_loops(block)
        made.decompose_reduction(block, row)
        made.vectorize(column)
        saved = (modules.save(each) for each in (made.mod, module))
        reason = self.reason(read_candidate(*saved, schedules.saved_trace(made)))
        assert "compact dataflow" in reason

    @pytest.mark.parametrize(
        "answer",
        [
            TaskFailure("run", "Died", "It died."),
            TaskFailure("run", "TimeLimit", "There was no answer."),
            ProtocolError(foreign("no message"), NOTHING),
        ],
        ids=["died", "silent", "unreadable"],
    )
    def test_a_runner_that_gives_no_answer(self, answer):
        assert proving.NOT_REPLAYED.english == self.reason(honest(), Answering(answer))


def deciding() -> bytes:
    """A function for eight images that looks at each number before it goes on."""
    x = te.placeholder((8, *schedules.IMAGE), "float32", name="x")

    def compute(n: Any, f: Any, i: Any, j: Any) -> Any:
        value = x[n, 0, i, j]
        return tvm.tirx.if_then_else(value > 0, value * value, value - 1)

    result = te.compute((8, *schedules.OUTPUT), compute, name="result")
    function = te.create_prim_func([x, result]).with_attr("global_symbol", "conv2d")
    return modules.save(tvm.IRModule({"conv2d": function}))


class TestLargerBatches:
    @pytest.mark.parametrize("layer", ["topi", "hand_written"])
    @pytest.mark.parametrize("batch", [1, 4])
    def test_the_schedule_computes_the_convolution_of_more_images(self, layer, batch):
        schedule = schedules.schedule_topi if layer == "topi" else schedules.schedule_mine
        found = gather(candidate(schedules.model(layer, batch), schedule))
        for larger, each in zip((8, 16), found.larger, strict=True):
            data, weight = draw(larger, *schedules.IMAGE), draw(*WEIGHT)
            actual = run(each.module, each.function, data, weight)
            np.testing.assert_allclose(actual, convolve(data, weight), rtol=1e-4, atol=1e-5)

    def test_a_bias_and_a_relu_may_be_in_it(self):
        def schedule(sch: Any) -> None:
            sch.compute_inline(sch.get_sblock("pad_temp", "conv2d"))
            sch.compute_inline(sch.get_sblock("T_add", "conv2d"))
            last = sch.get_loops(sch.get_sblock("compute", "conv2d"))
            sch.parallel(last[0])
            sch.compute_at(sch.get_sblock("conv2d_nchw", "conv2d"), last[1])

        for batch in (1, 4):
            found = gather(candidate(schedules.model("fused", batch), schedule), (8,))
            (larger,) = found.larger
            data, weight, bias = draw(8, *schedules.IMAGE), draw(*WEIGHT), draw(1, 8, 1, 1)
            actual = run(larger.module, larger.function, data, weight, bias)
            desired = np.maximum(convolve(data, weight) + bias, 0)
            np.testing.assert_allclose(actual, desired, rtol=1e-4, atol=1e-5)

    def test_its_facts_show_the_same_steps(self):
        (larger,) = gather(honest(), (8,)).larger
        kinds = {loop.kind for block in larger.facts.blocks for loop in block.loops}
        assert {"parallel", "vectorized", "unrolled"} <= kinds
        assert larger.facts.parameters[0].tensor.shape == (8, *schedules.IMAGE)

    def test_only_larger_ones_are_made(self):
        found = gather(honest(), (1, 4, 9))
        (larger,) = found.larger
        assert larger.facts.parameters[0].tensor.shape == (9, *schedules.IMAGE)
        assert ((), NOTHING) == (
            gather(honest(), (1, 4)).larger,
            gather(honest(), (1, 4)).larger_reason,
        )

    def test_a_batch_that_was_split_into_all_its_parts_does_not_fit(self):
        def schedule(sch: Any) -> None:
            image, *_ = sch.get_loops(sch.get_sblock("conv2d_nchw", "conv2d"))
            sch.split(image, [2, 2])

        found = gather(candidate(schedules.model(), schedule))
        assert (True, ()) == (found.proven, found.larger)
        assert "the same steps do not work for a larger batch" == found.larger_reason.english

    def test_what_a_runner_made_is_read_before_it_is_believed(self):
        """One of another batch, one with a forbidden attribute, one that decides, and none."""
        (larger,) = gather(honest(), (8,)).larger
        forbidden = larger.module.replace(b'"tirx.noalias"', b'"my.attribute"')
        assert forbidden != larger.module
        other = modules.save(schedules.model())
        for document in (other, forbidden, deciding(), b"{", b""):
            answer = ReplayResult("equal", modules=(document,))
            assert () == gather(honest(), (8,), Answering(answer)).larger
        answer = ReplayResult("equal", modules=(larger.module,))
        assert (larger,) == gather(honest(), (8,), Answering(answer)).larger

    def test_more_modules_than_were_asked_for_are_not_looked_at(self):
        (larger,) = gather(honest(), (8,)).larger
        answer = ReplayResult("equal", modules=(larger.module,) * 5)
        assert 1 == len(gather(honest(), (8,), Answering(answer)).larger)


def test_reasons_fit_into_a_sentence():
    names = ("NO_TRACE", "NO_BASE", "BAD_BASE", "NO_STEPS", "CHANGED_BASE", "NOT_REPLAYED")
    for name in names:
        reason = getattr(proving, name).english
        assert reason[0].islower()
        assert not reason.endswith(".")


def test_a_capture_is_not_changed():
    before = honest()
    gather(before)
    assert msgspec.msgpack.encode(before.capture) == msgspec.msgpack.encode(honest().capture)


def test_tvm_is_what_tests_think_it_is():
    """Two Schedules of one module give one module: a proof rests on nothing else."""
    one, other = (s_tir.Schedule(schedules.model()) for _ in range(2))
    schedules.schedule_topi(one)
    schedules.schedule_topi(other)
    tvm.ir.assert_structural_equal(one.mod, other.mod)


class TestFunctions:
    """A module of TIR functions without a model: one of them computes what is asked for."""

    def gather(self, subject: Candidate) -> Replay:
        return gather_replay(subject, products.SUBJECT, (), schedules.Runners())

    def test_an_honest_schedule_is_proven(self):
        found = self.gather(products.scheduled())
        assert (True, 9, ()) == (found.proven, found.steps, found.larger)

    def test_one_of_a_function_that_was_scheduled_before_is_not(self):
        first = s_tir.Schedule(products.Written)
        first.parallel(first.get_loops(first.get_sblock("C", "bmm_relu"))[0])
        found = self.gather(products.scheduled(module=first.mod))
        assert (False, proving.CHANGED_BASE) == (found.proven, found.reason)

    def test_one_of_another_module_is_not(self):
        made = products.scheduled().capture
        found = self.gather(
            read_candidate(made.module, modules.save(schedules.model()), made.trace)
        )
        assert (False, proving.BAD_BASE) == (found.proven, found.reason)

    def test_one_of_another_function_than_the_one_that_is_graded_is_not(self):
        written = products.Written["bmm_relu"]
        done = s_tir.Schedule(products.Written)
        products.transform(done)
        copy = tvm.ir.load_json(tvm.ir.save_json(done.mod))  # functions share blocks otherwise
        base = tvm.IRModule({"first": written, "second": copy["bmm_relu"]})
        beside = s_tir.Schedule(base)
        beside.parallel(beside.get_loops(beside.get_sblock("C", "first"))[0])
        turned = tvm.IRModule({name: beside.mod[name] for name in ("second", "first")})
        trace = json.dumps(beside.trace.as_json(), default=int).encode()
        found = self.gather(read_candidate(modules.save(turned), modules.save(base), trace))
        assert (False, proving.OTHER_FUNCTION) == (found.proven, found.reason)
        in_order = read_candidate(modules.save(beside.mod), modules.save(base), trace)
        assert self.gather(in_order).proven
