"""A GPU that TVM can use is found, whatever else is printed."""

import pytest

from grader.machine.gpus import Gpu, ask_tvm, find_gpu

A100 = b'{"kind": "cuda", "name": "NVIDIA A100", "version": "8.0"}\n'


def test_a_gpu_is_found_behind_other_lines() -> None:
    found = find_gpu(lambda: b"a driver says hello\n" + A100)
    assert Gpu("cuda", "NVIDIA A100", "8.0") == found


@pytest.mark.parametrize("told", [b"", b"no json\n", b'{"kind": 1}\n'])
def test_whatever_else_is_told_is_no_gpu(told: bytes) -> None:
    assert find_gpu(lambda: told) is None


@pytest.mark.parametrize(
    ("version", "arch"), [("8.0", "sm_80"), ("10.0", "sm_100"), ("gfx90a", "gfx90a")]
)
def test_the_architecture_is_named_as_targets_have_it(version: str, arch: str) -> None:
    assert arch == Gpu("cuda", "", version).arch


def test_tvm_can_be_asked() -> None:
    found = find_gpu(ask_tvm)
    assert found is None or found.kind in ("cuda", "rocm")
