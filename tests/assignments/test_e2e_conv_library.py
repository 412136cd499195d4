"""What PyTorch is timed on is what the oracle says is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from grader.course import load_course
from tests.our_course import our_course

ROOT = Path(__file__).resolve().parents[2]
VARIANTS = ("conv2d", "conv2d_bias", "conv2d_relu", "conv2d_bias_relu")


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant_is_computed_as_the_oracle_does(variant: str) -> None:
    assignment = our_course().get("e2e-conv")
    text = assignment.library()
    assert text is not None
    module: dict[str, object] = {}
    exec(compile(text, "library.py", "exec"), module)
    generator = np.random.default_rng(3)
    data = generator.standard_normal((1, 2, 1, 28, 28), dtype=np.float32)
    weight = generator.standard_normal((32, 1, 3, 3), dtype=np.float32)
    bias = generator.standard_normal(32, dtype=np.float32)
    desired = assignment.load_oracle().expected_workload(variant, data, weight, bias)
    with torch.inference_mode():
        function = module["library"](variant)  # type: ignore[operator]
        actual = function(*map(torch.from_numpy, (data[0], weight, bias)))
    np.testing.assert_allclose(actual.numpy(), desired[0], rtol=1e-4, atol=1e-5)


def test_it_leaves_its_arguments_as_they_were() -> None:
    text = our_course().get("e2e-conv").library()
    assert text is not None
    module: dict[str, object] = {}
    exec(compile(text, "library.py", "exec"), module)
    tensors = [torch.randn(shape) for shape in ((2, 1, 28, 28), (32, 1, 3, 3), (32,))]
    before = [tensor.clone() for tensor in tensors]
    with torch.inference_mode():
        module["library"]("conv2d_bias_relu")(*tensors)  # type: ignore[operator]
    assert all(torch.equal(one, other) for one, other in zip(before, tensors, strict=True))


def test_an_assignment_need_not_have_one() -> None:
    assert load_course(ROOT / "tests/courses/small").get("small").library() is None
