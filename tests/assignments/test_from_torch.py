"""The models and the oracle of from-torch: what importers meet, and what is right."""

from __future__ import annotations

import importlib.util
import operator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import fx, nn

from grader.course_code import import_file
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parents[2]
COURSE_ASSIGNMENT = our_course().get("from-torch")
COMPUTATIONS = {each.id: each for each in COURSE_ASSIGNMENT.assignment.computation}
ORACLE = import_file(COURSE_ASSIGNMENT.file("oracle.py"), "oracle")
SEEDS = (0, 1, 2**47 + 3)
FUNCTIONS = (torch.matmul, torch.relu, nn.functional.relu, torch.add, operator.add)


def load_models():
    spec = importlib.util.spec_from_file_location("models", COURSE_ASSIGNMENT.folder / "models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.MODELS


MODELS = load_models()


def inputs(name, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(each.shape, generator=generator) for each in COMPUTATIONS[name].arguments]


def state(name, seed):
    return {key: value.shape for key, value in MODELS[name](seed).state_dict().items()}


class TestModels:
    def test_there_is_one_for_every_computation_that_names_one(self):
        assert {each.model for each in COMPUTATIONS.values() if each.model} == set(MODELS)

    @pytest.mark.parametrize("name", MODELS)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_the_shapes_are_those_of_the_assignment_whatever_the_seed(self, name, seed):
        output = MODELS[name](seed)(*inputs(name))
        assert COMPUTATIONS[name].outputs[0].shape == tuple(output.shape)
        assert torch.float32 == output.dtype

    @pytest.mark.parametrize("name", MODELS)
    def test_a_seed_gives_the_same_weights_and_another_seed_others(self, name):
        one, same, other = (MODELS[name](seed).state_dict() for seed in (7, 7, 8))
        assert all(torch.equal(value, same[key]) for key, value in one.items())
        assert not any(
            value.shape == other[key].shape and torch.equal(value, other[key])
            for key, value in one.items()
        )

    @pytest.mark.parametrize("name", [name for name in MODELS if name != "mlp"])
    def test_widths_of_hidden_models_are_drawn_too(self, name):
        assert 1 < len({str(state(name, seed)) for seed in range(10)})

    def test_the_visible_model_has_the_widths_that_students_are_told(self):
        assert (128, 784) == tuple(state("mlp", 3)["linear0.weight"])

    @pytest.mark.parametrize("name", MODELS)
    def test_making_one_draws_nothing_from_the_notebook_s_generator(self, name):
        torch.manual_seed(5)
        expected = torch.rand(3)
        torch.manual_seed(5)
        MODELS[name](1)
        assert torch.equal(expected, torch.rand(3))

    @pytest.mark.parametrize("name", MODELS)
    def test_their_graphs_hold_only_what_students_are_told(self, name):
        network = fx.symbolic_trace(MODELS[name](2))
        layers = dict(network.named_modules())
        for node in network.graph.nodes:
            assert node.op in ("placeholder", "get_attr", "call_function", "call_module", "output")
            if node.op == "call_function":
                assert node.target in FUNCTIONS
                assert all(isinstance(each, fx.Node) for each in node.args)
            if node.op == "call_module":
                assert type(layers[node.target]) in (nn.Linear, nn.ReLU)

    @pytest.mark.parametrize("name", MODELS)
    @pytest.mark.parametrize("seed", SEEDS)
    def test_float32_is_within_a_tenth_of_the_tolerance(self, name, seed):
        network, given = MODELS[name](seed), inputs(name, seed)
        with torch.no_grad():
            single = network(*given).double()
            double = network.double()(*(each.double() for each in given))
        allowed = COMPUTATIONS[name].atol + COMPUTATIONS[name].rtol * double.abs()
        assert (single - double).abs().lt(allowed / 10).all()

    @pytest.mark.parametrize("name", MODELS)
    def test_outputs_are_neither_flat_nor_huge(self, name):
        with torch.no_grad():
            output = MODELS[name](4)(*inputs(name))
        assert 0.1 < float(output.std()) < 50


class TestOracle:
    def test_the_product_is_numpy_s_for_every_case(self):
        a, b = np.ones((2, 3, 4), np.float32), np.full((2, 4, 5), 2, np.float32)
        product = ORACLE.matmul({}, a, b)
        assert ((2, 3, 5), np.float64) == (product.shape, product.dtype)
        assert (product == 8).all()

    def test_relu_keeps_what_is_positive(self):
        x = np.array([[-2, 0, 3]], np.float32)
        assert [[0, 0, 3]] == ORACLE.relu({}, x).tolist()

    def test_the_fused_functions_agree_with_the_single_ones(self):
        generator = np.random.default_rng(0)
        a = generator.standard_normal((2, 3, 4)).astype(np.float32)
        b = generator.standard_normal((2, 4, 5)).astype(np.float32)
        product = ORACLE.matmul({}, a, b)
        fused, (first, second) = ORACLE.matmul_relu({}, a, b), ORACLE.matmul_and_relu({}, a, b)
        assert (product == first).all()
        assert (np.maximum(product, 0) == fused).all()
        assert (fused == second).all()


def test_no_function_of_relax_can_hide_what_main_is_made_of() -> None:
    parts = COURSE_ASSIGNMENT.assignment.part
    graphs = [check for part in parts for check in part.check if check.kind == "calls"]
    assert 13 <= len(graphs)
    assert [] == [check for check in graphs if check.required and check.options["function"] != 0]
