"""What is said of a departure: the step, the layer, the shapes, the mistake, and what to do."""

from __future__ import annotations

import ast
import re
import string
from pathlib import Path
from typing import Any, get_args

import pytest

import grader.diagnosis
from grader.diagnosis.explain import SCHEDULE_STEP
from grader.diagnosis.mistake_messages import DECIDES, MISTAKE_MESSAGES
from grader.diagnosis.words import KINDS, Departure, tell, with_parameters
from grader.language import template
from grader.report import MistakeKind

FOLDER = Path(grader.diagnosis.__file__).parent

STRIDE = {
    "size_found": 2,
    "size_wanted": 2,
    "stride_found": 1,
    "stride_wanted": 2,
    "padding_found": (0, 0),
    "padding_wanted": (0, 0),
    "dilation_found": (2, 1),
    "dilation_wanted": (1, 1),
}
FACTS: dict[str, Any] = {
    **STRIDE,
    "block": "Y",
    "iterator": "vi",
    "buffer": "Y",
    "callee": "env.conv2d",
    "layer": "linear",
    "found": (1, 1),
    "wanted": (0, 0),
    "axis": "rows",
    "share": 0.25,
    "start": 3,
    "stop": 8,
    "factor": 2.0,
    "index": 1,
    "amount": 1.0,
    "rounds": 64,
    "dtype": "float16",
    "layers": ("relu", "linear"),
    "missing": ("relu", "linear"),
    "taken": "relu",
    "returned": "lv1",
    "end": "last",
    "along": 1,
    "argument": 3,
    "shift": 128,
    "distance": 8,
}
SPECIAL = {"missing", "taken", "start", "along", "buffer"}
"""Facts that make another saying due, beside those of `DECIDES`."""

POOL = Departure(
    "lv2 = max_pool2d", (4, 32, 26, 26), "max_pool2d", (4, 32, 13, 13), before="lv1 = relu"
)
DENSE = Departure("lv3 = dense", (4, 10), "linear", (4, 10), before="lv2 = relu", difference=0.031)


def kinds_in_the_code() -> set[str]:
    """Return the mistakes that recognition names: what its calls and its tables of kinds hold."""
    found = set()
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS and node.args:
                found |= {each.value for each in ast.walk(node.args[0]) if is_text(each)}
    return found


MAKERS = ("change", "Change", "Sight", "Mistake")


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(node.value)


class TestSentences:
    def test_a_stride_is_told_with_both_shapes(self) -> None:
        assert tuple(each.english for each in tell(POOL, "pooling_stride", STRIDE)) == (
            "After `lv2 = max_pool2d` the shape is (4, 32, 26, 26); PyTorch's is (4, 32, 13, "
            "13) after max_pool2d: stride is 1; it should be 2.",
            "Give the pooling a stride of 2, in both directions.",
        )

    def test_a_function_that_is_not_tensorir_is_told_nothing_of_blocks(self) -> None:
        for facts, is_block in (({}, False), ({"written_in": "tensorir"}, True)):
            _, advice = tell(DENSE, "partly_written", {"share": 0.5, **facts})
            assert is_block == ("block" in advice.english)

    def test_where_shapes_agree_the_last_right_step_is_named(self) -> None:
        message, _ = tell(DENSE, "weight_not_transposed", {"is_reshaped": True})
        assert message.english == (
            "Up to `lv2 = relu` everything is as in PyTorch; `lv3 = dense` differs from PyTorch's "
            "linear: the weight is reshaped; it should be transposed."
        )

    def test_the_first_step_has_none_before_it(self) -> None:
        message, _ = tell(DENSE._replace(before=""), "weight_not_transposed", {})
        assert message.english == (
            "`lv3 = dense` differs from PyTorch's linear: the weight is not transposed."
        )

    def test_of_a_step_that_does_many_layers_the_wrong_one_is_told_by_its_shape(self) -> None:
        message, _ = tell(DENSE._replace(before="", within=(4, 100)), "relu_missing", {})
        assert (
            "`lv3 = dense` differs from PyTorch's linear (4, 100): the ReLU is missing."
            == message.english
        )

    def test_after_a_right_step_something_is_missing(self) -> None:
        message, advice = tell(DENSE._replace(is_short=True), "softmax_missing", {"along": 1})
        assert message.english == (
            "`lv3 = dense` is as in PyTorch, except that the softmax is missing."
        )
        assert "a softmax along axis 1" in advice.english

    def test_a_mistake_of_several_layers_says_of_how_many(self) -> None:
        message, _ = tell(DENSE, "weight_not_transposed", {"layers": 2})
        assert message.english.endswith(
            "the weight is not transposed, in 2 layers in the same way."
        )

    def test_a_step_that_keeps_the_shape_is_not_held_against_the_next_layers_shape(self) -> None:
        what, advice = tell(DENSE._replace(is_added=True), "", {})
        assert "shape" not in what.english
        assert "PyTorch's next step there is linear" in what.english
        assert "Check whether" in advice.english

    def test_a_step_behind_the_last_layer_is_one_too_many(self) -> None:
        told = tell(DENSE._replace(is_beyond=True), "", {})
        assert ("`lv2 = relu` is already PyTorch's output, and `lv3 = dense` changes it.") == told[
            0
        ].english
        assert (
            "Leave `lv3 = dense` out, and all after it: `lv2 = relu` is the result."
            == told[1].english
        )


class TestWhatIsNotRecognised:
    def test_the_difference_is_told_beside_the_largest_number(self) -> None:
        message, advice = tell(DENSE, "", {})
        assert message.english.endswith(
            "PyTorch's linear: its values are off by up to 3.1% of PyTorch's largest value."
        )
        assert "Compare `lv3 = dense` with PyTorch's linear on the same input" in advice.english

    @pytest.mark.parametrize(
        ("difference", "told"),
        [(0.62, "up to 62% of PyTorch's"), (7e20, "more than PyTorch's"), (None, "different")],
    )
    def test_differences_of_any_size_can_be_told(self, difference: float | None, told: str) -> None:
        assert told in tell(DENSE._replace(difference=difference), "", {})[0].english

    def test_other_shapes_are_told_alone(self) -> None:
        assert tell(POOL, "", {})[0].english == (
            "After `lv2 = max_pool2d` the shape is (4, 32, 26, 26); PyTorch's is (4, 32, 13, 13)"
            " after max_pool2d."
        )

    def test_where_most_is_right_the_rest_is_to_be_looked_at(self) -> None:
        """What it is, an edge of a loop or what is negative, nobody knows."""
        advice = tell(DENSE._replace(right=0.97), "", {})[1]
        assert advice.english.startswith("97% of its elements are right: find what the others have")
        assert "loop" not in advice.english

    def test_what_is_rounded_has_no_edge_to_look_at(self) -> None:
        rounded = DENSE._replace(right=0.97, difference=4e-4)
        assert "Compare `lv3 = dense` with PyTorch's linear" in tell(rounded, "", {})[1].english

    @pytest.mark.parametrize(("difference", "told"), [(4.2e-4, "0.04%"), (0.0312, "3.1%")])
    def test_what_is_off_is_not_off_by_nothing(self, difference: float, told: str) -> None:
        message, _ = tell(DENSE._replace(difference=difference), "", {})
        expected = f"its values are off by up to {told} of PyTorch's largest value"
        assert expected in message.english

    def test_a_step_without_a_value_is_where_the_run_ends(self) -> None:
        gone = DENSE._replace(shape=None, difference=None)
        message, advice = tell(gone, "", {})
        assert message.english == (
            "Up to `lv2 = relu` everything is as in PyTorch; the run stops in `lv3 = dense`."
        )
        assert "read its error" in advice.english
        stopped, _ = tell(gone._replace(before=""), "", {})
        assert "The run stops in `lv3 = dense`." == stopped.english

    def test_a_departure_without_a_layer_can_be_told(self) -> None:
        nowhere = Departure("lv = f", (4, 10))
        assert (
            "`lv = f` differs from PyTorch: its values are different."
            == tell(nowhere, "", {})[0].english
        )

    def test_a_mistake_that_nobody_wrote_of_is_told_as_an_unknown_one(self) -> None:
        assert tell(DENSE, "", {}) == tell(DENSE, "no such mistake", {"found": 1})


def due(key: str) -> tuple[str, dict[str, Any]]:
    """Return the mistake and the facts for which the saying of a key is due."""
    kind, _, variant = key.partition(":")
    facts = {name: each for name, each in FACTS.items() if variant or name not in SPECIAL}
    if kind in DECIDES:
        facts[DECIDES[kind]] = {"True": True}.get(variant, variant)
    if variant == "steps":
        facts |= {"taken_step": "lv1", "wanted_step": "lv2"}
    if variant == "parameter":
        facts |= {"parameter": "conv2d", "wanted_step": "lv2"}
    if variant == "arguments":
        facts |= {"taken_argument": 2, "wanted_argument": 3}
    if variant == "argument":
        facts |= {"taken_argument": 2, "result": "conv2d"}
    if kind == "layer_left_out" and variant != "several":
        facts.pop("missing", None)
    if variant == "repeated":
        facts["repeats"] = "lv1"
    if kind == "axis_binding":
        facts |= {"found": "RSS", "wanted": "SSR"} if variant else {"found": "", "wanted": ""}
    return kind, facts


class TestSayings:
    def test_every_mistake_that_is_recognised_has_one(self) -> None:
        assert len(kinds_in_the_code()) > 30
        assert set() == kinds_in_the_code() - set(KINDS)

    def test_every_variant_belongs_to_a_mistake_that_has_variants(self) -> None:
        varied = {key.partition(":")[0] for key in MISTAKE_MESSAGES if ":" in key}
        special = {"layer_left_out", "other_operand", "low_precision", "partly_right"}
        special |= {"softmax_missing", "axis_binding"}
        assert varied == special | set(DECIDES)

    def test_every_one_can_be_said(self, subtests: pytest.Subtests) -> None:
        for key, texts in MISTAKE_MESSAGES.items():
            with subtests.test(key):
                for text, told in zip(texts, tell(DENSE, *due(key)), strict=True):
                    fixed = max(
                        (part[0] for part in string.Formatter().parse(template(text.id))), key=len
                    )
                    assert fixed.strip() in told.english
                    assert "{" not in told.english and "None" not in told.english

    def test_what_is_wrong_is_a_clause_and_what_to_do_a_sentence(
        self, subtests: pytest.Subtests
    ) -> None:
        for key, texts in MISTAKE_MESSAGES.items():
            with subtests.test(key):
                what, advice = (template(each.id) for each in texts)
                assert not what.endswith(".") and (what[0].islower() or what[0] in "{`")
                assert advice.endswith(".")

    def test_who_adds_the_bias_behind_another_layer_is_told_of_the_bias(self) -> None:
        """They do the convolution first as it is."""
        facts = {"layers": ("conv2d", "relu"), "part": "bias"}
        message, advice = tell(DENSE, "order_swapped", facts)
        assert message.english.endswith(
            "the bias of conv2d is added after relu; it should be added before."
        )
        assert "Add the bias to the product first, and do relu on the sum." == advice.english

    def test_of_what_is_done_too_late_it_is_said_before_what_it_belongs(self) -> None:
        facts = {"layers": ("add", "clamp"), "part": "late", "wanted": "mul"}
        message, advice = tell(DENSE, "order_swapped", facts)
        assert message.english.endswith("add is done after clamp; it should be done before mul.")
        assert "Do add before mul, not after clamp." == advice.english

    def test_a_factor_that_is_missing_is_told_with_its_number(self) -> None:
        message, advice = tell(DENSE, "layer_left_out", {"of": "factor", "wanted": 0.25})
        assert message.english.endswith("the multiplication by 0.25 is left out.")
        assert "Multiply by 0.25 here, before what follows." == advice.english

    @pytest.mark.parametrize(
        ("parameters", "told"),
        [
            (((3, "sin"), (1, "x"), (2, "cos")), "argument 3 (`sin`)"),
            (((2, "x`\n"), (1, "")), "argument 2 (`x`)"),
            (((1, ""),), "argument 1 of"),
            ((), "argument 1 of"),
        ],
    )
    def test_an_argument_is_told_by_its_place_and_name_in_the_submission(
        self, parameters: Any, told: str
    ) -> None:
        facts = with_parameters({"of": "argument", "argument": 1}, parameters)
        assert told in tell(DENSE, "negated", facts)[0].english

    def test_several_layers_that_are_missing_are_listed(self) -> None:
        message, advice = tell(DENSE, "layer_left_out", {"missing": ("linear", "softmax")})
        assert "linear, softmax are left out." in message.english
        assert "in this order: linear, softmax." in advice.english

    def test_another_operand_is_named_only_where_the_names_differ(self) -> None:
        names = {"taken": "add", "wanted": "relu"}
        assert (
            "of add; it should use the result of relu"
            in tell(DENSE, "other_operand", names)[0].english
        )
        names = {"taken": "add", "wanted": "add"}
        told = tell(DENSE, "other_operand", {**names, "layer": "linear"})
        assert "uses the wrong value" in told[0].english

    def test_no_sentence_has_a_hole(self, subtests: pytest.Subtests) -> None:
        """PyTorch's function may be one that nobody would call a layer, and has no name then."""
        for key in MISTAKE_MESSAGES:
            kind, facts = due(key)
            nameless = {n: "" if isinstance(v, str) else v for n, v in facts.items()}
            nameless |= {DECIDES[kind]: facts[DECIDES[kind]]} if kind in DECIDES else {}
            nameless |= {"missing": ("",)} | ({"layers": ("", "")} if "layers" in facts else {})
            with subtests.test(key):
                for text in tell(DENSE, kind, nameless):
                    assert not re.search(r"``|  | [.,:;]|^ | $", text.english), text.english

    def test_steps_are_named_where_they_are_known(self) -> None:
        facts = {"taken": "linear", "wanted": "relu", "taken_step": "lv1", "wanted_step": "lv2"}
        what, advice = tell(DENSE, "other_operand", facts)
        assert what.english.endswith("it uses `lv1`; it should use `lv2`.")
        assert "Use `lv2` as its input: that one is as in PyTorch." == advice.english


def test_the_page_on_diagnosis_lists_every_mistake() -> None:
    page = (Path(__file__).parents[2] / "docs" / "diagnosis.md").read_text("utf-8")
    listed = {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall("`([a-z_]+)`", line.split("|")[1])
    }
    assert {*KINDS, SCHEDULE_STEP} == listed == {*get_args(MistakeKind)}
