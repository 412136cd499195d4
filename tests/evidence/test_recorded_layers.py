"""What the oracles of a course say of PyTorch's layers."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
import torch

from grader.assignment import ArgumentTable, Computation, OracleOptions, TensorTable
from grader.course import CourseAssignment, load_course
from grader.data.dataset import DataSet
from grader.evidence.answers import CaseOracle, course_function, model_function
from grader.evidence.operations import Layer, course_steps
from grader.evidence.oracle import LAYER_SAMPLES, ModelOracle
from grader.language import foreign
from tests.diagnosis.network import noise, relu

ROOT = Path(__file__).parents[2]


def assignment(slug: str) -> CourseAssignment:
    return load_course(ROOT).get(slug)


def names(layers: tuple[Layer, ...]) -> list[str]:
    return [each.name for each in layers if each.name and not each.is_partial]


@pytest.fixture(scope="module")
def classifier() -> ModelOracle:
    """The oracle of e2e-conv, with parameters and images drawn at random."""
    module = assignment("e2e-conv").load_oracle()
    parameters = {name: noise(*shape) / 9 for name, (_, shape) in module.PARAMETERS.items()}
    images = np.random.default_rng(0).integers(0, 256, (40, 28, 28), np.uint8)
    data = DataSet("fashion-mnist", foreign("Noise."), images, np.zeros(40, np.uint8), parameters)
    options = OracleOptions(input_shape=(1, 28, 28), output_shape=(10,), hidden_inputs=60)
    return ModelOracle(module, options, data, np.random.default_rng(1))


class TestModel:
    def test_layers_of_a_batch_end_in_the_answers(self, classifier: ModelOracle) -> None:
        layers = classifier.layers([7, 3, 5])
        assert [
            *("conv2d", "relu", "max_pool2d", "flatten"),
            *("linear", "relu", "linear", "softmax"),
        ] == names(layers)
        assert np.allclose(classifier.desired[[7, 3, 5]], layers[-1].value, rtol=1e-12)
        assert 0 == layers[-1].output

    @pytest.mark.parametrize("rows", [1, 4, 5, 33, LAYER_SAMPLES])
    def test_batches_are_never_divided(self, classifier: ModelOracle, rows: int) -> None:
        layers = classifier.layers(range(rows))
        assert {rows} == {len(each.value) for each in layers}
        assert np.allclose(classifier.desired[:rows], layers[-1].value, rtol=1e-12)

    def test_a_batch_too_large_to_keep_has_none(self, classifier: ModelOracle) -> None:
        assert () == classifier.layers(range(LAYER_SAMPLES + 1))

    def test_other_images_than_the_oracles_own(self, classifier: ModelOracle) -> None:
        batch = noise(6, 1, 28, 28)
        assert (6, 10) == classifier.layers_for([batch])[-1].value.shape

    def test_a_perceptron(self) -> None:
        module = assignment("e2e-mlp").load_oracle()
        parameters = {name: noise(*shape) for name, (_, shape) in module.PARAMETERS.items()}
        images = np.zeros((4, 28, 28), np.uint8)
        data = DataSet(
            "fashion-mnist", foreign("Black."), images, np.zeros(4, np.uint8), parameters
        )
        options = OracleOptions(input_shape=(784,), output_shape=(10,), hidden_inputs=8)
        oracle = ModelOracle(module, options, data, np.random.default_rng(1))
        row = noise(1, 784)
        layers = oracle.layers_for([row])
        assert ["linear", "relu", "linear"] == names(layers)
        hidden = relu(row @ parameters["w0"].T + parameters["b0"])
        assert np.allclose(hidden, layers[2].value, rtol=1e-4, atol=1e-4)


def computation(slug: str, name: str) -> CaseOracle:
    chosen = assignment(slug)
    table = next(each for each in chosen.assignment.computation if each.id == name)
    compute = (
        model_function(chosen, table, 5)
        if table.model
        else course_function(chosen.load_oracle(), table, {})
    )
    return CaseOracle(table, compute, np.random.default_rng(2))


class TestComputations:
    @pytest.mark.parametrize(
        ("slug", "name", "wanted"),
        [
            ("tensorir", "broadcast_add", ["add"]),
            ("tensorir", "conv2d", ["conv2d"]),
            ("tensorir", "bmm_relu", ["bmm", "relu"]),
            ("from-torch", "matmul", ["matmul"]),
            ("from-torch", "relu", ["relu"]),
            ("from-torch", "matmul_relu", ["matmul", "relu"]),
            ("from-torch", "mlp", ["linear", "relu", "linear"]),
            ("from-torch", "unbiased", ["linear", "linear", "relu", "linear"]),
            ("from-torch", "functional", ["matmul", "add", "relu", "add", "relu", "matmul"]),
        ],
    )
    def test_layers_are_those_of_one_case(self, slug: str, name: str, wanted: list[str]) -> None:
        oracle = computation(slug, name)
        layers = oracle.layers([3])
        assert wanted == names(layers)
        desired = oracle.desired[3]
        assert np.allclose(desired, layers_output(layers).value.reshape(desired.shape), rtol=1e-12)

    def test_an_axis_over_cases_is_none_of_the_layers(self) -> None:
        assert [(128, 32), (128, 32)] == [
            each.value.shape for each in computation("from-torch", "matmul_relu").layers([0])
        ]
        assert (1, 2, 6, 6) == layers_output(
            computation("tensorir", "conv2d").layers([0])
        ).value.shape

    def test_several_outputs_are_marked_in_their_order(self) -> None:
        layers = computation("from-torch", "matmul_and_relu").layers([1])
        assert {"matmul": 0, "relu": 1} == {each.name: each.output for each in layers}

    def test_two_inputs_and_a_layer_used_twice(self) -> None:
        layers = computation("from-torch", "branches").layers([0])
        assert 5 == names(layers).count("linear")
        arguments = {o.argument for each in layers for o in each.operation.operands}
        assert {0, 1} <= arguments

    def test_arguments_of_one_call_have_no_axis_over_cases(self) -> None:
        a, b = noise(128, 64), noise(64, 32)
        layers = computation("from-torch", "matmul").layers_for([a, b])
        assert np.allclose(a.astype(float) @ b, layers[0].value, rtol=1e-12)

    def test_a_function_in_numpy_has_no_layers(self) -> None:
        table = Computation(
            id="add",
            arguments=(ArgumentTable((4,), "float32", name="A"),),
            outputs=(TensorTable((4,), "float32"),),
            cases=2,
        )
        oracle = CaseOracle(table, lambda a: a + 1, np.random.default_rng(0))
        assert () == oracle.layers([0])


def layers_output(layers: tuple[Layer, ...]) -> Layer:
    return next(each for each in layers if each.output == 0)


def test_answers_are_not_changed_by_what_is_done_with_layers(classifier: ModelOracle) -> None:
    before: Any = classifier.inputs.copy()
    for each in classifier.layers([0, 1]):
        each.value.fill(7)
    assert np.array_equal(before, classifier.inputs)
    assert np.allclose(1, classifier.desired.sum(axis=1))


def test_answers_of_functions_are_those_of_numpy() -> None:
    module = assignment("from-torch").load_oracle()
    a, b = noise(3, 128, 64), noise(3, 64, 32)
    product = np.matmul(a.astype(np.float64), b.astype(np.float64))
    scale = np.abs(product).max()
    assert np.abs(product - module.matmul({}, a, b)).max() <= 1e-12 * scale
    assert np.abs(relu(product) - module.matmul_relu({}, a, b)).max() <= 1e-12 * scale
    for wanted, found in zip(
        (product, relu(product)), module.matmul_and_relu({}, a, b), strict=True
    ):
        assert np.abs(wanted - found).max() <= 1e-12 * scale
    x = noise(3, 6, 10, 20)
    assert relu(x).tolist() == module.relu({}, x).tolist()
    assert np.float64 == module.relu({}, x).dtype


class TestDeclared:
    """A course's function that calls nothing of PyTorch's may say what it comes by."""

    TABLE = Computation(
        "scaled",
        arguments=(ArgumentTable((3, 4), name="a"),),
        outputs=(TensorTable((3, 4)),),
    )

    @staticmethod
    def scaled(a: Any) -> Any:
        return a / a.sum(-1, keepdims=True)

    @staticmethod
    def steps(a: Any) -> dict[str, Any]:
        return {"the sums": a.sum(-1, keepdims=True)}

    def oracle(self, steps: Any = None, compute: Any = None) -> CaseOracle:
        generator = np.random.default_rng(0)
        return CaseOracle(self.TABLE, compute or self.scaled, generator, steps=steps)

    def test_without_steps_there_is_nothing_to_compare_with(self) -> None:
        assert [] == names(self.oracle().layers([0]))

    def test_steps_come_before_what_they_end_in(self) -> None:
        layers = self.oracle(self.steps).layers([1])
        assert ["the sums", "scaled"] == names(layers)
        assert [(3, 1), (3, 4)] == [each.value.shape for each in layers]
        assert np.allclose(self.oracle().desired[1], layers[-1].value)
        assert [None, 0] == [each.output for each in layers]

    def test_a_step_depends_on_the_one_before_it_and_on_the_arguments(self) -> None:
        _, last = self.oracle(self.steps).layers([0])
        assert [0, None] == [each.layer for each in last.operation.operands]
        assert [None, 0] == [each.argument for each in last.operation.operands]

    def test_where_pytorch_is_called_its_layers_count(self) -> None:
        oracle = self.oracle(self.steps, lambda a: torch.relu(torch.tensor(a)).numpy())
        assert ["relu"] == names(oracle.layers([0]))

    def test_several_outputs_are_numbered(self) -> None:
        table = msgspec.structs.replace(self.TABLE, outputs=self.TABLE.outputs * 2)
        oracle = CaseOracle(
            table, lambda a: (a, -a), np.random.default_rng(0), steps=lambda a: {"b": 2 * a}
        )
        layers = oracle.layers([0])
        assert ["b", "scaled 1", "scaled 2"] == names(layers)
        assert [None, 0, 1] == [each.output for each in layers]

    def test_the_courses_file_has_them_by_the_name_of_the_computation(self) -> None:
        module = SimpleNamespace(two_words_steps=lambda parameters, a: {"a": a, **parameters})
        found = course_steps(module, "two-words", {"w": np.ones(1)})
        assert found is not None
        assert {"a": 5, "w": np.ones(1)} == found(5)
        assert None is course_steps(module, "other", {})
