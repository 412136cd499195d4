"""Draw the test images of the built-in set, train its parameters, and write both into the package.

    python tools/train_builtin.py [--folder DIR] [--threads N]

The models are those of the assignments: a convolutional classifier (`e2e_conv`) and a two-layer
perceptron (`e2e_mlp`). They learn on images that are drawn from another seed than the built-in
test images. Three things make them good for finding mistakes rather than for classifying:

* label smoothing and weight decay keep probabilities away from 0 and 1, where a mistake would
  vanish;
* biases are given and not learned, none is near zero, and neighbours differ, so that a forgotten
  or misplaced bias shows in every image;
* few training images, so that some test images are misread, as with the real set.

Values are rounded to `MANTISSA_BITS` so that the file compresses well. The same PyTorch with
the same number of threads writes the same bytes.
"""

from __future__ import annotations

import argparse
import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from drawing import draw_images
from torch import nn

from grader.data.dataset import write_idx

TEST_SEED = 2026
TEST_COUNT = 499
"""Number of test images. Batches of four leave a remainder, as in the real images at hand."""

TRAINING_SEED = TEST_SEED + 1
TRAINING_COUNT = 3000
BATCH = 64
SMOOTHING = 0.15
BIASES = (0.1, 0.3)
"""Least and largest absolute value of a bias."""

MANTISSA_BITS = 7
ASSETS = Path(__file__).parents[1] / "grader" / "data" / "assets"


def convolutional() -> nn.Sequential:
    """Return the model of assignment e2e-conv, without its softmax."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(5408, 100),
        nn.ReLU(),
        nn.Linear(100, 10),
    )


def perceptron() -> nn.Sequential:
    """Return the two-layer perceptron of the lecture notes."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def tensors(seed: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return drawn images, float32 (count, 1, 28, 28) in [0, 1], and labels, int64 (count,)."""
    images, labels = draw_images(seed, count)
    scaled = torch.from_numpy(images).unsqueeze(1).to(torch.float32) / 255
    return scaled, torch.from_numpy(labels.astype(np.int64))


def train(model: nn.Sequential, epochs: int) -> None:
    """Fit the model in place with AdamW."""
    images, labels = tensors(TRAINING_SEED, TRAINING_COUNT)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    loss = nn.CrossEntropyLoss(label_smoothing=SMOOTHING)
    shuffled = torch.Generator().manual_seed(0)
    for _ in range(epochs):
        for chosen in torch.randperm(len(images), generator=shuffled).split(BATCH):
            optimiser.zero_grad()
            loss(model(images[chosen]), labels[chosen]).backward()
            optimiser.step()


def fix_biases(model: nn.Sequential) -> None:
    """Give the biases of every layer different values of either sign, and do not train them."""
    for layer in model:
        if isinstance(layer, nn.Conv2d | nn.Linear):
            sizes = torch.linspace(*BIASES, len(layer.bias))
            layer.bias.data.copy_(sizes * torch.tensor([1.0, -1.0]).repeat(len(sizes) // 2))
            layer.bias.requires_grad_(False)


def rounded(tensor: torch.Tensor) -> npt.NDArray[np.float32]:
    """Return float32 values with `MANTISSA_BITS` bits of mantissa, rounded to nearest."""
    words = tensor.detach().numpy().astype(np.float32).view(np.uint32)
    spare = np.uint32(23 - MANTISSA_BITS)
    half = np.uint32(1) << (spare - np.uint32(1))
    values: npt.NDArray[np.float32] = (((words + half) >> spare) << spare).view(np.float32)
    return values


def parameters(model: nn.Sequential, names: tuple[str, ...]) -> dict[str, npt.NDArray[np.float32]]:
    """Return the rounded parameters in the model's order under the names of the course's file."""
    return dict(zip(names, map(rounded, model.parameters()), strict=True))


def describe(model: nn.Sequential) -> str:
    """Return accuracy and confidence on the built-in test images, in words."""
    images, labels = tensors(TEST_SEED, TEST_COUNT)
    with torch.no_grad():
        probabilities = torch.softmax(model(images), 1)
    accuracy = (probabilities.argmax(1) == labels).double().mean()
    return (
        f"accuracy {accuracy:.3f}, median confidence {probabilities.max(1).values.median():.3f}, "
        f"highest {probabilities.max():.4f}, lowest probability {probabilities.min():.1e}"
    )


def write_pictures(folder: Path) -> None:
    """Write the test images and their labels, as IDX files."""
    for name, array in zip(("images", "labels"), draw_images(TEST_SEED, TEST_COUNT), strict=True):
        (folder / f"{name}.gz").write_bytes(gzip.compress(write_idx(array), mtime=0))


def main() -> None:
    """Draw the images; train both models, round them, write them and say how good they are."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--folder", type=Path, default=ASSETS)
    options.add_argument("--threads", type=int, default=1)
    chosen = options.parse_args()
    torch.set_num_threads(chosen.threads)
    write_pictures(chosen.folder)
    conv_names = tuple(
        f"{layer}_{kind}"
        for layer in ("conv2d", "linear0", "linear1")
        for kind in ("weight", "bias")
    )
    for name, build, names, epochs in (
        ("e2e_conv", convolutional, conv_names, 3),
        ("e2e_mlp", perceptron, ("w0", "b0", "w1", "b1"), 6),
    ):
        torch.manual_seed(0)
        model = build()
        fix_biases(model)
        train(model, epochs)
        values = parameters(model, names)
        for parameter, value in zip(model.parameters(), values.values(), strict=True):
            parameter.data.copy_(torch.from_numpy(value))
        path = chosen.folder / f"{name}.npz"
        np.savez_compressed(path, allow_pickle=False, **values)
        print(f"{name}: {describe(model)}; {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
