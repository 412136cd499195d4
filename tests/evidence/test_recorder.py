"""What is recorded of PyTorch, and that it can be done again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader.evidence.operations import Layer
from grader.evidence.recorder import record, replay
from tests.diagnosis import network
from tests.diagnosis.network import IMAGES, PARAMETERS, double, noise


def names(layers: tuple[Layer, ...]) -> list[str]:
    return [each.name for each in layers if each.name and not each.is_partial]


def named(layers: tuple[Layer, ...], name: str) -> Layer:
    return next(each for each in layers if each.name == name)


def test_layers_come_in_the_order_in_which_they_are_done() -> None:
    assert [
        *("conv2d", "relu", "max_pool2d", "flatten", "linear", "relu"),
        *("linear", "relu", "linear", "softmax"),
    ] == names(network.layers())


def test_values_are_those_of_numpy() -> None:
    layers = network.layers()
    convolved = network.convolve(IMAGES.astype(float), PARAMETERS["kernel"].astype(float))
    assert np.allclose(convolved, named(layers, "conv2d without its bias").value)
    assert np.allclose(network.add_bias(convolved), named(layers, "conv2d").value)
    assert np.allclose(network.expected(IMAGES), layers[-1].value)
    assert {np.dtype(np.float64)} == {each.value.dtype for each in layers}


def test_a_layer_without_a_bias_has_no_partial_one() -> None:
    weight = double(noise(3, 4))
    x = noise(2, 4)
    layers = record(lambda: nn.functional.linear(double(x), weight), [x])
    assert ["linear"] == [each.name for each in layers]


def test_the_exponentials_of_a_softmax_are_parts_of_it() -> None:
    x = noise(2, 4)
    layers = record(lambda: torch.softmax(double(x), 1), [x])
    found = [each.value for each in layers if each.name == "the exponentials of a softmax"]
    plain = np.exp(x.astype(float))
    assert any(np.allclose(plain, each) for each in found)
    assert any(np.allclose(plain / plain.max(1, keepdims=True), each) for each in found)
    assert all(each.is_partial for each in layers[:-1])


def test_modules_are_recorded_like_functions() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3), nn.Softmax(1)
    )
    x = noise(2, 1, 4, 4)
    layers = record(lambda: model.double().eval()(double(x)).detach().numpy(), [x])
    assert ["conv2d", "max_pool2d", "flatten", "linear", "softmax"] == names(layers)
    assert (1, 1) == layers[0].operation.options["padding"]


def test_what_does_not_depend_on_the_arguments_is_no_layer() -> None:
    x = noise(2, 4)

    def compute() -> torch.Tensor:
        weight = torch.relu(double(np.ones((4, 4))))
        return torch.matmul(double(x), weight @ weight)

    layers = record(compute, [x])
    assert ["matmul"] == [each.name for each in layers]
    assert not layers[0].operation.operands[1].is_running


def test_functions_that_write_to_their_argument() -> None:
    x, y = noise(2, 3), noise(2, 3)

    def compute() -> torch.Tensor:
        value = double(x)
        value.exp_()
        value += double(y)
        value.relu_()
        value.sin_()
        return value

    layers = record(compute, [x, y])
    wanted = [np.exp(x.astype(float))]
    wanted.append(wanted[0] + y)
    wanted.append(network.relu(wanted[1]))
    wanted.append(np.sin(wanted[2]))
    assert ["exp", "add", "relu", "sin"] == names(layers)
    for value, layer in zip(wanted, layers, strict=True):
        assert np.allclose(value, layer.value)
        assert np.allclose(value, layer.operation.compute().numpy())
        assert np.allclose(value, layer.operation.compute().numpy()), "a second time"
    again = replay(replay(layers, [2 * x, y]), [x, y])
    assert np.allclose(wanted[3], again[3].value)


def test_a_tensor_that_is_gone_is_not_taken_for_a_later_one() -> None:
    """Python gives its id to another one."""
    x = noise(2, 4)

    def compute() -> None:
        for _ in range(30):
            gone = torch.exp(double(x))
            del gone
            torch.neg(double(np.ones((2, 4))))

    assert {"exp"} == {each.name for each in record(compute, [x])}


def test_arguments_are_known_again_in_another_dtype_and_shape() -> None:
    x, y = np.arange(12).reshape(1, 3, 4), np.arange(4)
    layers = record(lambda: torch.tensor(x) + torch.tensor(y)[None], [x, y])
    found = {each.argument for layer in layers for each in layer.operation.operands}
    assert {0, 1} <= found
    assert ["add"] == names(layers)
    assert (x + y).tolist() == named(layers, "add").value.tolist()


def test_a_layer_knows_which_layers_it_takes() -> None:
    x = noise(2, 3)

    def compute() -> torch.Tensor:
        start = torch.relu(double(x))
        return torch.add(start, torch.exp(start))

    layers = record(compute, [x])
    assert ["relu", "exp", "add"] == names(layers)
    assert [0, 1] == [each.layer for each in layers[2].operation.operands]


def test_functions_that_are_not_known_are_layers_under_their_own_name_and_can_be_done_again() -> (
    None
):
    x = noise(2, 3)
    layers = record(lambda: torch.clamp(torch.sin(double(x)), min=0.25), [x])
    assert ["sin", "clamp"] == names(layers)
    again = replay(layers, [2 * x])
    assert np.allclose(np.sin(2 * x.astype(float)).clip(min=0.25), again[-1].value)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x.masked_fill(torch.ones(2, 4, dtype=torch.bool).triu(1), -1e9),
        lambda x: torch.where(x > 0, x, torch.zeros_like(x)),
        lambda x: x[:, torch.tensor([3, 1])],
        lambda x: torch.gather(x, 1, torch.tensor([[0, 2], [1, 3]])),
        lambda x: nn.functional.scaled_dot_product_attention(
            x, x, x, attn_mask=torch.ones(2, 2, dtype=torch.bool).tril()
        ),
    ],
)
def test_masks_and_indices_keep_their_types(compute: Any) -> None:
    """Nothing at all was said of attention with a mask: its recording failed."""
    x = noise(2, 4)
    layers = record(lambda: compute(double(x)), [x])
    again = replay(layers, [x + 1])
    assert np.array_equal(compute(double(x + 1)).numpy(), again[-1].value)


def test_an_output_is_marked_and_several_in_their_order() -> None:
    x = noise(2, 3)

    def compute() -> tuple[Any, Any]:
        negative = torch.neg(double(x))
        return torch.relu(negative).numpy(), negative.numpy()

    assert {"neg": 1, "relu": 0} == {each.name: each.output for each in record(compute, [x])}


def test_a_replay_is_what_a_recording_on_the_other_arguments_would_be() -> None:
    images = noise(9, 2, 10, 10)
    again = replay(network.layers(), [images])
    direct = network.layers(images)
    assert [each.name for each in direct] == [each.name for each in again]
    for one, other in zip(direct, again, strict=True):
        assert one.value.shape == other.value.shape
        assert np.allclose(one.value, other.value, rtol=1e-12, atol=1e-12)


def test_operations_can_be_done_again_on_other_values() -> None:
    operation = network.layers()[0].operation
    x, kernel = noise(1, 2, 6, 6), noise(4, 2, 3, 3)
    wanted = network.convolve(x.astype(float), kernel.astype(float), padding=1)
    assert np.allclose(wanted, operation.compute(double(x), double(kernel), padding=1).numpy())


def test_recording_changes_nothing_of_what_is_computed() -> None:
    results = []
    record(lambda: results.append(network.expected(IMAGES)), [IMAGES])
    assert network.expected(IMAGES).tolist() == results[0].tolist()


def test_several_threads_record_their_own() -> None:
    inputs = [noise(4, 2, 10, 10) for _ in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(network.layers, inputs))
    for images, layers in zip(inputs, found, strict=True):
        assert len(network.layers()) == len(layers)
        assert network.expected(images).tolist() == layers[-1].value.tolist()


def test_an_error_of_the_course_is_not_swallowed() -> None:
    with pytest.raises(RuntimeError, match=r"mat1 and mat2|size"):
        record(lambda: torch.matmul(double(noise(2, 3)), double(noise(2, 3))))


@pytest.mark.parametrize("cases", [1, 3])
def test_a_row_that_is_added_to_a_product_by_hand_is_a_bias(cases: int) -> None:
    x, w, b = noise(cases, 5, 4), noise(cases, 4, 6), noise(cases, 6)

    def compute() -> torch.Tensor:
        return double(x) @ double(w) + double(b)[:, None]

    layers = record(compute, [x, w, b])
    if cases > 1:
        assert "add" == layers[-1].operation.kind
        return
    assert ("add", "bias") == (layers[-1].name, layers[-1].operation.kind)
    assert np.allclose(layers[-1].value, layers[-1].operation.compute().numpy())
    again = replay(layers, [2 * x, w, b])
    assert np.allclose(2 * x @ w + b[:, None], again[-1].value)


def test_a_sum_of_two_vectors_or_with_what_is_computed_has_no_bias() -> None:
    x, y = noise(1, 6), noise(1, 6)
    assert "add" == record(lambda: double(x) + double(y), [x, y])[-1].operation.kind
    w = noise(1, 5, 6)
    layers = record(lambda: double(w) + torch.sin(double(y))[:, None], [w, y])
    assert "add" == layers[-1].operation.kind
