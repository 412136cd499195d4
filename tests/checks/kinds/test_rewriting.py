"""Checks of what a pass left, what it put together, and of tensors of any size."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from grader.checks.kinds.graph import CallOptions, calls
from grader.checks.kinds.rewriting import (
    FusedOptions,
    OperatorOptions,
    SymbolicOptions,
    fused,
    operators,
    symbolic,
)
from grader.evidence.problems import NO_MAIN
from grader.ir.facts import (
    Argument,
    BufferFacts,
    Call,
    GraphFacts,
    ModuleFacts,
    TensorFacts,
    bind_symbols,
)
from tests.evidence.factory import argument, call, case, module, tensor

MATMUL, ADD, RELU = "relax.matmul", "relax.add", "relax.nn.relu"


def chain(*calls: Call) -> ModuleFacts:
    """Return a module in which each call is given the one before, and the last is returned."""
    linked = [
        replace(each, arguments=(Argument("value", "", tensor(4, 8), place - 1),))
        if place
        else replace(each, arguments=(argument("input", 4, 8),))
        for place, each in enumerate(calls)
    ]
    result = Argument("value", "", tensor(4, 8), len(calls) - 1)
    return replace(module(*linked), result=result)


def group(*names: str, primitive: bool = True) -> GraphFacts:
    return GraphFacts(tuple(call("operator", name) for name in names), primitive)


class TestOperators:
    def judge(self, facts: ModuleFacts, **counts: int):
        return operators(case(facts), OperatorOptions({f"relax.{n}": c for n, c in counts.items()}))

    def test_as_many_calls_as_asked_for_pass(self):
        facts = chain(call("operator", ADD), call("operator", "relax.exp"), call("operator", ADD))
        assert "passed" == self.judge(facts, add=2, exp=1, tanh=0).verdict

    def test_what_stands_elsewhere_is_not_said_to_be_left_as_it_was(self):
        """A pass that puts too much into a function has rewritten more than it should."""
        facts = replace(chain(call("function", "fused")), graphs={"fused": group("relax.exp")})
        hint = self.judge(facts, exp=1).hint.english
        assert hint.startswith("`fused` calls `relax.exp`")
        elsewhere = self.judge(chain(call("operator", ADD)), exp=1).hint.english
        assert "which calls are there instead of `relax.exp`?" in elsewhere

    @pytest.mark.parametrize(
        ("counts", "count"), [({"add": 1}, 2), ({"add": 3}, 2), ({"exp": 1}, 0)]
    )
    def test_more_and_fewer_fail_and_are_told(self, counts: dict[str, int], count: int):
        outcome = self.judge(chain(call("operator", ADD), call("operator", ADD)), **counts)
        (wanted,) = counts.values()
        assert "failed" == outcome.verdict
        assert f"{count}. There should be {wanted}." in outcome.reason.english

    def test_calls_that_were_taken_away_are_named(self):
        """A pass that makes `silu` of every product has a pattern that matches too much."""
        facts = chain(call("operator", "relax.nn.silu"), call("operator", "relax.nn.silu"))
        hint = self.judge(facts, **{"nn.silu": 1, "sigmoid": 1}).hint.english
        assert "also takes away calls of `relax.sigmoid` that should stay" in hint

    def test_calls_that_were_not_rewritten_are_named(self):
        """As where the pass returns the function that it was given."""
        facts = chain(call("operator", "relax.sigmoid"))
        hint = self.judge(facts, **{"nn.silu": 1, "sigmoid": 0}).hint.english
        assert "`main` still has `relax.sigmoid`" in hint
        assert "returns what it has rewritten" in hint

    def test_one_that_nothing_uses_is_to_be_removed(self):
        facts = chain(call("operator", ADD), call("operator", RELU))
        unused = replace(call("operator", ADD), arguments=(argument("input", 4, 8),))
        outcome = self.judge(replace(facts, calls=(*facts.calls, unused)), add=1)
        assert "remove_all_unused" in outcome.hint.english

    def test_one_that_nothing_uses_does_not_help(self):
        facts = chain(call("operator", RELU))
        unused = replace(call("operator", ADD), arguments=(argument("input", 4, 8),))
        assert "failed" == self.judge(replace(facts, calls=(*facts.calls, unused)), add=1).verdict

    @pytest.mark.parametrize("kind", ["tir", "extern"])
    def test_what_is_lowered_fails_unless_it_is_allowed(self, kind: str):
        facts = chain(call("operator", ADD), call(kind, "other"))
        assert "`other`" in self.judge(facts, add=1).reason.english
        allowed = OperatorOptions({ADD: 1}, lowered=True)
        assert "passed" == operators(case(facts), allowed).verdict


def shared() -> ModuleFacts:
    """Return a module whose `main` adds up a product that `fused` computes again, and a sigmoid."""
    x, w = Argument("input", "x", tensor(4, 8)), Argument("constant", "", tensor(8, 8))
    inside = [Argument("input", name, tensor(8, 8)) for name in "ab"]
    made = [Argument("value", "", tensor(4, 8), place) for place in range(3)]
    calls = (
        call("operator", MATMUL, x, w),
        call("function", "fused", x, w),
        call("operator", ADD, *made[:2]),
    )
    products = (
        call("operator", MATMUL, *inside),
        call("operator", "relax.sigmoid", Argument("value", "", tensor(4, 8), 0)),
    )
    graphs = {"fused": GraphFacts(products, primitive=True)}
    return replace(module(*calls), result=made[2], graphs=graphs)


class TestShared:
    """A pass that does not count uses groups what something else needs, too."""

    ADVICE = "`fused` computes `relax.matmul` on the same values as `main`"

    def test_where_an_operator_is_missing_that_is_the_advice(self):
        outcome = operators(case(shared()), OperatorOptions({"relax.sigmoid": 1}))
        assert outcome.hint.english.startswith(self.ADVICE)

    def test_where_a_group_is_too_many_that_is_the_advice(self):
        outcome = fused(case(shared()), FusedOptions(()))
        assert outcome.hint.english.startswith(self.ADVICE)

    def test_another_product_of_the_same_kind_is_none_of_it(self):
        facts = shared()
        x, other = Argument("input", "x", tensor(4, 8)), Argument("input", "w", tensor(8, 8))
        calls = (call("operator", MATMUL, x, other), *facts.calls[1:])
        outcome = fused(case(replace(facts, calls=calls)), FusedOptions(()))
        assert "does not match the pattern" in outcome.hint.english


class TestFused:
    def judge(
        self, graphs: dict[str, GraphFacts], called: str, *groups: tuple[str, ...], **options
    ):
        facts = replace(chain(*(call("function", name) for name in called)), graphs=graphs)
        return fused(case(facts), FusedOptions(groups, **options))

    def test_each_group_in_a_function_passes_whatever_its_order(self):
        graphs = {"a": group(MATMUL, ADD), "b": group(RELU, ADD, MATMUL)}
        outcome = self.judge(graphs, "ab", (MATMUL, ADD, RELU), (MATMUL, ADD))
        assert "passed" == outcome.verdict

    def test_a_function_that_is_called_twice_is_two_groups(self):
        graphs = {"a": group(MATMUL, ADD)}
        assert "passed" == self.judge(graphs, "aa", (MATMUL, ADD), (MATMUL, ADD)).verdict

    def test_a_group_that_is_missing_costs_its_share(self):
        outcome = self.judge({"a": group(MATMUL, ADD)}, "a", (MATMUL, ADD), (ADD, RELU))
        assert 0.5 == outcome.fraction
        assert "`relax.add` and `relax.nn.relu`" in outcome.reason.english.replace(", ", " and ")

    def test_what_a_function_does_beside_a_group_is_to_be_left_out(self):
        """All of it is in functions, and "which operators are still in `main`?" was asked."""
        graphs = {"a": group(MATMUL, ADD, RELU)}
        outcome = self.judge(graphs, "a", (MATMUL, ADD))
        assert outcome.hint.english.startswith("Leave `relax.nn.relu` out of the function")

    def test_what_another_group_does_too_much_is_not_left_out_of_it(self):
        """Of two layers each had a ReLU too many: one function was to lose both of its own."""
        graphs = {"a": group(MATMUL, ADD, RELU, RELU), "b": group(MATMUL, ADD, RELU)}
        outcome = self.judge(graphs, "ab", (MATMUL, ADD, RELU), (MATMUL, ADD))
        assert "Leave" not in outcome.hint.english

    def test_a_group_that_should_not_be_costs_its_share_too(self):
        graphs = {"a": group(MATMUL, ADD), "b": group(RELU)}
        outcome = self.judge(graphs, "ab", (MATMUL, ADD))
        assert (0.5, True) == (outcome.fraction, "none should" in outcome.reason.english)

    def test_one_group_too_many_is_counted(self):
        graphs = {"a": group(MATMUL, ADD), "b": group(MATMUL, ADD)}
        outcome = self.judge(graphs, "ab", (MATMUL, ADD))
        assert "and nothing else: 2. There should be 1." in outcome.reason.english

    def test_a_function_without_the_mark_does_not_count_unless_none_is_asked_for(self):
        graphs = {"a": group(MATMUL, ADD, primitive=False)}
        assert 0 == self.judge(graphs, "a", (MATMUL, ADD)).fraction
        assert 1 == self.judge(graphs, "a", (MATMUL, ADD), primitive=False).fraction

    def test_an_operator_that_relax_does_not_have_is_refused(self):
        with pytest.raises(ValueError, match=r"no operator 'relax.matmull'.*'relax.matmul'"):
            FusedOptions((("relax.matmull", ADD),))
        with pytest.raises(ValueError, match="no operator"):
            OperatorOptions({"relax.relu": 1})

    def test_a_function_that_calls_tensorir_is_another_group(self):
        graphs = {"a": GraphFacts((call("tir", "whole"),), primitive=True)}
        assert 0 == self.judge(graphs, "a", (MATMUL, ADD)).fraction


class TestSymbolic:
    def judge(self, *shape: int | str, axes=((0, 0),)):
        inputs = (BufferFacts("x", TensorFacts(shape, "float32")),)
        facts = bind_symbols(replace(module(), inputs=inputs), ((8, 24),))
        return symbolic(case(facts), SymbolicOptions(axes))

    def test_a_variable_passes_where_it_was_bound_to_an_extent(self):
        assert "passed" == self.judge("n", 24).verdict

    def test_a_number_fails_and_is_told(self):
        outcome = self.judge(8, "m")
        assert "Axis 0 of `x` has a fixed size" in outcome.reason.english

    @pytest.mark.parametrize("axes", [((0, 2),), ((1, 0),)])
    def test_what_there_is_not_fails(self, axes: tuple[tuple[int, int], ...]):
        assert "failed" == self.judge("n", "m", axes=axes).verdict


def test_a_module_without_a_graph_fails_each_of_them():
    facts = replace(module(), has_main=False)
    outcomes = (
        operators(case(facts), OperatorOptions({})),
        fused(case(facts), FusedOptions(())),
        symbolic(case(facts), SymbolicOptions(())),
    )
    assert {"failed"} == {each.verdict for each in outcomes}
    # What cannot be run says the same: otherwise it is listed twice as what is to be mended first.
    told = {(each.reason, each.hint) for each in (*outcomes, calls(case(facts), CallOptions()))}
    assert told == {(NO_MAIN.reason, NO_MAIN.hint)}
