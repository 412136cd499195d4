"""Two models for importers: one that students know, and another one."""

from __future__ import annotations

import torch
from torch import nn


def _drawn(network: nn.Module, seed: int) -> nn.Module:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return network.eval()


MODELS = {
    "shown": lambda seed: _drawn(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), seed),
    "other": lambda seed: _drawn(
        nn.Sequential(nn.Linear(7, 9), nn.ReLU(), nn.Linear(9, 9), nn.ReLU(), nn.Linear(9, 5)),
        seed,
    ),
}
