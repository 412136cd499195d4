"""The PyTorch models that an importer is given: one that students know, and others.

The referee runs them in double precision. The student's kernel executes this text too and traces
the models, so the file imports nothing but PyTorch and says nothing about what is right. A model is
drawn from a seed, its inner widths as well as its weights: the shapes that `assignment.toml` names,
those of its inputs and its output, are always the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

import torch
from torch import nn


class Perceptron(nn.Module):
    """Two linear layers with a ReLU in between: (n, 784) to (n, 10). The model students know."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear0 = nn.Linear(784, width)
        self.relu = nn.ReLU()
        self.linear1 = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of the classes."""
        return self.linear1(self.relu(self.linear0(x)))


class Deep(nn.Module):
    """Five linear layers: (n, 24) to (n, 7)."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.first = nn.Linear(24, widths[0])
        self.second = nn.Linear(widths[0], widths[1])
        self.third = nn.Linear(widths[1], widths[2])
        self.fourth = nn.Linear(widths[2], widths[3])
        self.last = nn.Linear(widths[3], 7)
        self.activation = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use the one ReLU four times."""
        for layer in (self.first, self.second, self.third, self.fourth):
            x = self.activation(layer(x))
        return self.last(x)


class Unbiased(nn.Module):
    """Three linear layers, two of them without a bias: (n, 18) to (n, 6)."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.enter = nn.Linear(18, widths[0], bias=False)
        self.middle = nn.Linear(widths[0], widths[1])
        self.leave = nn.Linear(widths[1], 6, bias=False)
        self.relu = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the last layer's output, which may be negative."""
        return self.leave(self.relu(self.middle(self.enter(x))))


class Functional(nn.Module):
    """Functions and parameters in place of layers: (n, 20) to (n, 9)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Parameter(torch.empty(20, width))
        self.shift = nn.Parameter(torch.empty(width))
        self.outer = nn.Parameter(torch.empty(width, 9))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Use every function that an importer must know, in each of its spellings."""
        hidden = torch.relu(torch.add(torch.matmul(x, self.inner), self.shift))
        return torch.matmul(nn.functional.relu(hidden + self.shift), self.outer)


class Branches(nn.Module):
    """Two inputs, a layer that is used twice, and sums around it: (n, 12) and (n, 5) to (n, 8)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.left = nn.Linear(12, width)
        self.right = nn.Linear(5, width, bias=False)
        self.shared = nn.Linear(width, width)
        self.out = nn.Linear(width, 8)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Keep `start` alive over both uses of the shared layer, and add one tensor to itself."""
        start = self.left(x) + self.right(y)
        once = operator.add(start, torch.relu(self.shared(start)))
        twice = torch.add(torch.relu(self.shared(once)), start)
        return self.out(twice + twice)


class Block(nn.Module):
    """A module inside of another one, with layers in a Sequential and a parameter of its own."""

    def __init__(self, features: int, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(features, width), nn.ReLU(), nn.Linear(width, features, bias=False)
        )
        self.scale = nn.Parameter(torch.empty(features, features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (n, features), as it was given."""
        return self.body(x) + torch.matmul(x, self.scale)


class Nested(nn.Module):
    """Modules within modules, whose parts have dotted names: (n, 16) to (n, 4)."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.blocks = nn.Sequential(Block(16, widths[0]), nn.ReLU(), Block(16, widths[1]))
        self.head = nn.Sequential(nn.Linear(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the head's output."""
        return self.head(self.blocks(x))


def _widths(seed: int, count: int) -> list[int]:
    """Return `count` different widths from 9 to 40, none of them an outer extent of its model.

    Layers of different widths show where two were mixed up: their weights do not fit.
    """
    usable = torch.tensor([width for width in range(9, 41) if width not in (9, 12, 16, 18, 20, 24)])
    chosen = torch.randperm(len(usable), generator=torch.Generator().manual_seed(seed))[:count]
    return [int(width) for width in usable[chosen]]


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
    "mlp": lambda seed: _drawn(lambda: Perceptron(128), seed),
    "deep": lambda seed: _drawn(lambda: Deep(_widths(seed, 4)), seed),
    "unbiased": lambda seed: _drawn(lambda: Unbiased(_widths(seed, 2)), seed),
    "functional": lambda seed: _drawn(lambda: Functional(_widths(seed, 1)[0]), seed),
    "branches": lambda seed: _drawn(lambda: Branches(_widths(seed, 1)[0]), seed),
    "nested": lambda seed: _drawn(lambda: Nested(_widths(seed, 2)), seed),
}
"""Name to a function of a seed that makes the model, in evaluation mode, float32."""
