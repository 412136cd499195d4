"""The PyTorch models that passes are applied to: two that students know, and others.

The referee runs them in double precision. The student's kernel executes this text too, traces the
models and imports them into Relax, so the file imports nothing but PyTorch and says nothing about
what is right. A model is drawn from a seed, its inner widths as well as its weights: the shapes
that `assignment.toml` names, those of its inputs and its output, are always the same.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn


class Dense(nn.Module):
    """A linear layer, spelled so that it is imported as one `matmul` and one `add`."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features, width))
        self.bias = nn.Parameter(torch.empty(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (n, width) for (n, features)."""
        return torch.matmul(x, self.weight) + self.bias


class Shifted(Dense):
    """The same with the bias on the left."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (n, width) for (n, features)."""
        return self.bias + torch.matmul(x, self.weight)


class Product(nn.Module):
    """A linear layer without a bias."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(features, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (n, width) for (n, features)."""
        return torch.matmul(x, self.weight)


class Gated(nn.Module):
    """A layer whose output is multiplied by its own sigmoid: (n, 12) to (n, 5). It is shown."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = Dense(12, width)
        self.leave = Dense(width, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last layer's output."""
        hidden = self.enter(x)
        return self.leave(hidden * torch.sigmoid(hidden))


class Orders(nn.Module):
    """The sigmoid on the left, on the right, and once more by itself: (n, 14) to (n, 6)."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.first = Dense(14, widths[0])
        self.second = Dense(widths[0], widths[1])
        self.last = Dense(widths[1], 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use the second sigmoid twice: what it is needed for remains."""
        first = self.first(x)
        second = self.second(torch.sigmoid(first) * first)
        gate = torch.sigmoid(second)
        return self.last(second * gate + gate)


class Lookalikes(nn.Module):
    """Products with the sigmoid of something else, beside one of its own: (n, 10) to (n, 7)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.left = Dense(10, width)
        self.right = Dense(10, width)
        self.last = Dense(width, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Multiply two layers with each other's sigmoid, the sum with its own."""
        left, right = self.left(x), self.right(x)
        crossed = left * torch.sigmoid(right) + torch.sigmoid(left) * right
        return self.last(crossed * torch.sigmoid(crossed))


class Perceptron(nn.Module):
    """Two layers with a ReLU in between: (n, 16) to (n, 10). It is shown."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = Dense(16, width)
        self.second = Dense(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of the classes."""
        return self.second(torch.relu(self.first(x)))


class Deep(nn.Module):
    """Four layers, each with a ReLU but one in the middle: (n, 18) to (n, 8)."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.first = Dense(18, widths[0])
        self.second = Dense(widths[0], widths[1])
        self.third = Shifted(widths[1], widths[2])
        self.last = Dense(widths[2], 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last layer's positive part."""
        hidden = self.second(torch.relu(self.first(x)))
        return torch.relu(self.last(torch.relu(self.third(hidden))))


class Unbiased(nn.Module):
    """Products without a bias, and a sum that is no bias: (n, 20) to (n, 9)."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.enter = Product(20, widths[0])
        self.middle = Dense(widths[0], widths[1])
        self.around = Product(20, widths[1])
        self.leave = Product(widths[1], 9)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add two products to each other."""
        hidden = self.middle(torch.relu(self.enter(x)))
        return self.leave(self.around(x) + hidden)


class Shared(nn.Module):
    """Products and sums that are used twice: (n, 22) to (n, 6)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = Product(22, width)
        self.shift = nn.Parameter(torch.empty(width))
        self.middle = Dense(width, width)
        self.leave = Dense(width, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use the product beside its sum with a bias, and a layer beside its positive part."""
        product = self.enter(x)
        middle = self.middle(torch.relu(self.shift + product) - product)
        return self.leave(torch.relu(middle) * middle)


def _extents(seed: int, count: int) -> list[int]:
    """Return `count` different widths from 24 to 40: none is an outer extent of a model."""
    chosen = torch.randperm(17, generator=torch.Generator().manual_seed(seed))[:count]
    return [24 + int(place) for place in chosen]


def _drawn(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    """Make a network and draw its parameters: matrices so that items neither grow nor vanish.

    The generator of PyTorch stays as it is, since a notebook may go on drawing from it.
    """
    with torch.random.fork_rng(devices=[]):
        network = make()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            scale = 0.5 if parameter.ndim == 1 else (2 / max(parameter.shape)) ** 0.5
            parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    return network.eval()


MODELS: dict[str, Callable[[int], nn.Module]] = {
    "gated": lambda seed: _drawn(lambda: Gated(_extents(seed, 1)[0]), seed),
    "orders": lambda seed: _drawn(lambda: Orders(_extents(seed, 2)), seed),
    "lookalikes": lambda seed: _drawn(lambda: Lookalikes(_extents(seed, 1)[0]), seed),
    "perceptron": lambda seed: _drawn(lambda: Perceptron(_extents(seed, 1)[0]), seed),
    "deep": lambda seed: _drawn(lambda: Deep(_extents(seed, 3)), seed),
    "unbiased": lambda seed: _drawn(lambda: Unbiased(_extents(seed, 2)), seed),
    "shared": lambda seed: _drawn(lambda: Shared(_extents(seed, 1)[0]), seed),
}
