"""The check of what `main` is made of, on graphs made by hand."""

from __future__ import annotations

import msgspec
import pytest

from grader.assignment import CheckTable
from grader.checks.kinds.graph import (
    Amount,
    CallOptions,
    ConstantOptions,
    calls,
    constants,
    dataflow,
    used_calls,
)
from grader.errors import CourseError
from grader.evidence.registry import NoOptions, find_check
from grader.ir.facts import Argument, Call
from tests.evidence.factory import argument, call, case, module, tensor

W0 = (128, 784)


def made(source: int) -> Argument:
    """What the call at a place gives."""
    return Argument("value", f"lv{source}", tensor(1, 128), source)


def inside(each: Call) -> Call:
    return msgspec.structs.replace(each, dataflow=True)


def chain(*kinds_and_names: tuple[str, str], dataflow: bool = True, weights="constant"):
    """A module whose calls take the result of the one before; the first takes the weight."""
    found = []
    for place, (kind, name) in enumerate(kinds_and_names):
        before = made(place - 1) if place else argument("input", 1, 784)
        given = () if place else (argument(weights, *W0),)
        found.append(call(kind, name, before, *given))
    found = [inside(each) if dataflow else each for each in found]
    return msgspec.structs.replace(module(*found), result=made(len(found) - 1))


def judge(facts, **options):
    return calls(case(facts), CallOptions(**options))


TIR = chain(("tir", "linear0"), ("tir", "relu0"), ("tir", "linear1"))
MIXED = chain(("tir", "linear0"), ("extern", "env.relu"), ("extern", "env.linear"))
OPERATORS = chain(("operator", "relax.matmul"), ("operator", "relax.nn.relu"))


class TestNumbers:
    def test_the_number_that_was_asked_for_passes_and_is_told(self):
        outcome = judge(TIR, tir=3, extern=0, operator=0)
        assert ("passed", 1.0) == (outcome.verdict, outcome.fraction)
        assert outcome.reason.english.endswith(": `linear0`, `relu0`, `linear1`.")

    @pytest.mark.parametrize("number", [2, 4])
    def test_any_other_number_fails(self, number):
        assert "failed" == judge(TIR, tir=number).verdict

    def test_a_range_leaves_a_choice(self):
        assert "passed" == judge(TIR, tir=Amount(min=2)).verdict
        assert "passed" == judge(TIR, tir=Amount(max=3)).verdict
        assert "failed" == judge(TIR, tir=Amount(min=4)).verdict
        assert "failed" == judge(TIR, tir=Amount(max=2)).verdict

    def test_a_kind_that_is_not_mentioned_may_occur(self):
        assert "passed" == judge(MIXED, tir=1).verdict

    def test_one_that_must_not_occur_is_named(self):
        outcome = judge(MIXED, extern=0)
        assert "failed" == outcome.verdict
        assert all(name in outcome.reason.english for name in ("`lv_env.relu`", "`env.relu`"))

    def test_calls_of_which_nothing_comes_do_not_count(self):
        decoy = inside(call("tir", "decoy", argument("input", 1, 784)))
        facts = msgspec.structs.replace(TIR, calls=(*TIR.calls, decoy))
        assert "failed" == judge(facts, tir=Amount(min=4)).verdict

    def test_a_call_whose_result_nobody_takes_is_not_to_be_written_again(self):
        given = argument("input", 1, 784)
        idle = inside(call("tir", "linear0", given, argument("constant", *W0)))
        relu = inside(call("extern", "env.relu", given))
        facts = msgspec.structs.replace(module(idle, relu), result=made(1))
        for wanted in (1, Amount(names=("linear0",)), Amount(given=(W0,))):
            hint = judge(facts, tir=wanted).hint.english
            assert hint.startswith(
                "Nothing that reaches the output uses `lv_linear0`, the result of"
            )
        assert "Write each step" in judge(facts, tir=Amount(names=("linear1",))).hint.english

    def test_calls_of_which_nothing_comes_are_still_too_many(self):
        decoy = inside(call("extern", "env.f", argument("input", 1, 784)))
        facts = msgspec.structs.replace(TIR, calls=(*TIR.calls, decoy))
        assert "failed" == judge(facts, extern=0).verdict

    def test_a_module_without_main_fails(self):
        facts = msgspec.structs.replace(TIR, has_main=False, calls=())
        assert "main" in judge(facts, tir=0).reason.english
        assert "failed" == judge(facts, tir=0).verdict

    def test_of_calls_beyond_the_number_some_are_to_be_put_together(self):
        """The part does ask for TensorIR, so that it is not to be done without."""
        hint = judge(TIR, tir=2).hint.english
        assert "2 calls are enough" in hint
        assert "without" not in hint

    def test_a_call_that_is_there_is_to_be_passed_on_and_not_written(self):
        """As where `main` returns the product, and the ReLU of it goes nowhere."""
        facts = msgspec.structs.replace(TIR, result=made(1))
        hint = judge(facts, tir=Amount(min=3)).hint.english
        assert "the result of `linear1`" in hint
        assert "return it" in hint
        assert "of its own" in judge(facts, tir=Amount(min=4)).hint.english


class TestNames:
    def test_operators_that_were_asked_for_by_name_must_be_called(self):
        both = Amount(names=("relax.matmul", "relax.nn.relu"))
        assert "passed" == judge(OPERATORS, operator=both).verdict
        outcome = judge(OPERATORS, operator=Amount(names=("relax.nn.softmax",)))
        assert ("failed", True) == (outcome.verdict, "`relax.nn.softmax`" in outcome.reason.english)

    def test_a_name_that_is_given_twice_must_be_called_twice(self):
        twice = Amount(names=("relax.matmul", "relax.matmul"))
        outcome = judge(OPERATORS, operator=twice)
        assert ("failed", True) == (
            outcome.verdict,
            ": 1. There should be 2." in outcome.reason.english,
        )

    def test_a_function_of_another_kind_with_that_name_does_not_count(self):
        facts = chain(("tir", "relax.matmul"))
        assert "failed" == judge(facts, operator=Amount(names=("relax.matmul",))).verdict


class TestTensors:
    def test_a_tensor_may_be_given_as_a_constant_or_as_an_argument(self):
        wanted = Amount(given=(W0,))
        for kind in ("constant", "input"):
            assert "passed" == judge(chain(("tir", "linear0"), weights=kind), tir=wanted).verdict

    def test_a_tensor_given_to_another_kind_of_call_is_missed(self):
        outcome = judge(MIXED, extern=Amount(given=(W0,)))
        assert ("failed", True) == (outcome.verdict, "(128, 784)" in outcome.reason.english)

    def test_bound_parameters_are_constants_and_others_are_not(self):
        assert "passed" == judge(MIXED, constants=(W0,)).verdict
        unbound = chain(("tir", "linear0"), weights="input")
        outcome = judge(unbound, constants=(W0,))
        assert ("failed", True) == (outcome.verdict, "constant" in outcome.reason.english)


class TestDataflow:
    def test_every_call_must_stand_in_a_dataflow_block_where_that_is_asked(self):
        loose = chain(("tir", "linear0"), dataflow=False)
        assert "passed" == judge(loose, tir=1).verdict
        outcome = judge(loose, tir=1, dataflow=True)
        assert ("failed", True) == (outcome.verdict, "dataflow" in outcome.reason.english)
        assert "passed" == judge(TIR, dataflow=True).verdict

    def test_the_check_of_its_own_says_what_it_found(self):
        """It named the calls, as the one of the graph does."""
        outcome = dataflow(case(TIR), NoOptions())
        assert "Every call of `main` is in a dataflow block." == outcome.reason.english

    def test_constants_are_told_by_their_shapes(self):
        outcome = constants(case(MIXED), ConstantOptions(shapes=(W0,)))
        assert "constants of the required shapes: (128, 784)." in outcome.reason.english


class TestSingleDemands:
    def test_dataflow_alone_asks_for_the_block_and_for_some_call(self):
        loose = chain(("tir", "linear0"), dataflow=False)
        verdicts = [dataflow(case(each), NoOptions()).verdict for each in (TIR, loose, module())]
        assert ["passed", "failed", "failed"] == verdicts

    def test_constants_alone_asks_for_bound_parameters(self):
        options = ConstantOptions(shapes=(W0,))
        assert "passed" == constants(case(TIR), options).verdict
        unbound = chain(("tir", "linear0"), weights="input")
        assert "failed" == constants(case(unbound), options).verdict


class TestPartialCredit:
    LOOSE = chain(("tir", "linear0"), ("operator", "relax.nn.relu"), dataflow=False)

    def test_a_demand_may_leave_a_share_of_the_points(self):
        outcome = judge(self.LOOSE, dataflow=True, partial={"dataflow": 0.5})
        assert ("partial", 0.5) == (outcome.verdict, outcome.fraction)

    def test_shares_of_several_demands_are_multiplied(self):
        shares = {"dataflow": 0.5, "operator": 0.5}
        assert 0.25 == judge(self.LOOSE, operator=0, dataflow=True, partial=shares).fraction

    def test_a_demand_without_a_share_leaves_nothing(self):
        outcome = judge(self.LOOSE, operator=0, dataflow=True, partial={"dataflow": 0.5})
        assert (0.0, True) == (outcome.fraction, "relax.nn.relu" in outcome.reason.english)

    def test_a_demand_that_fails_twice_is_multiplied_once(self):
        wanted = Amount(names=("relax.add", "relax.matmul"))
        assert 0.5 == judge(self.LOOSE, operator=wanted, partial={"operator": 0.5}).fraction

    def test_an_assignment_may_say_what_to_do(self):
        outcome = judge(self.LOOSE, operator=0, hints={"operator": "Write relu0."})
        assert "Write relu0." == outcome.hint.english


class TestOptions:
    def test_a_table_of_the_assignment_becomes_the_options(self):
        table = CheckTable(
            id="structure",
            kind="calls",
            options={
                "tir": {"min": 2, "given": [[128, 784]]},
                "extern": 0,
                "dataflow": True,
                "partial": {"dataflow": 0.5},
            },
        )
        options = find_check(table).parse(table)
        assert isinstance(options, CallOptions)
        assert Amount(min=2, given=(W0,)) == options.amount("tir")
        assert Amount(min=0, max=0) == options.amount("extern")
        assert Amount() == options.amount("operator")

    @pytest.mark.parametrize("options", [{"tirs": 3}, {"tir": -1}, {"partial": {"dataflow": 1.5}}])
    def test_a_misspelt_option_or_a_wrong_number_is_an_error(self, options):
        table = CheckTable(id="structure", kind="calls", options=options)
        with pytest.raises(CourseError):
            find_check(table).parse(table)


class TestUsedCalls:
    def names(self, facts) -> list[str]:
        return [each.callee for each in used_calls(facts)]

    def test_a_chain_is_used_from_its_end_to_its_beginning(self):
        assert ["linear0", "relu0", "linear1"] == self.names(TIR)

    def test_what_the_output_is_not_made_of_is_not_used(self):
        assert ["linear0", "relu0"] == self.names(msgspec.structs.replace(TIR, result=made(1)))

    def test_an_external_call_outside_of_dataflow_blocks_may_write_into_its_arguments(self):
        writer = call("extern", "env.f", made(0))
        facts = msgspec.structs.replace(
            module(*chain(("tir", "f")).calls, writer), result=argument("input", 1)
        )
        assert ["f", "env.f"] == self.names(facts)

    def test_everything_is_used_where_the_output_comes_from_an_if(self):
        hidden = Argument("value", "chosen", tensor(1, 10))
        assert 3 == len(used_calls(msgspec.structs.replace(TIR, result=hidden)))

    def test_everything_is_used_where_there_are_several_outputs(self):
        assert 3 == len(used_calls(msgspec.structs.replace(TIR, result=None)))
