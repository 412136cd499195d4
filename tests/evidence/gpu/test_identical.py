"""Evidence is the same to the byte: at every run, under load, and on other processors."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROGRAM = """
import hashlib, msgspec, tvm
from tvm import IRModule
from grader.evidence.gpu.inside.entry import perform
from grader.evidence.gpu.messages import RunKernels
from grader.messages.frames import pack_array
from tests.evidence.gpu import written
from tests.evidence.gpu.more_schedules import softmax_in_one_kernel
from tests.evidence.gpu.running import arrays_of
from tests.evidence.gpu.schedules import product

def answer(module, arrays):
    document, packed = tvm.ir.save_json(module).encode(), tuple(map(pack_array, arrays))
    return perform(RunKernels(document, "main", packed, (len(arrays) - 1,), "sm_80"))

examples = product(32), softmax_in_one_kernel()
answers = [answer(each.module, each.arrays()) for each in examples]
racing = written.without_barrier
answers.append(answer(IRModule({"main": racing}), arrays_of(racing)))
print(hashlib.sha256(msgspec.msgpack.encode(answers)).hexdigest())
"""
DIGEST = "e07fb72f5579d55e3ce28604236bb810af3661264a5557b66c3432bc20a833e2"
"""Of the evidence on an Intel Emerald Rapids. Before accesses told what of them is repeated, an AMD
EPYC had the same. Whoever changes what a kernel is asked, or what is told of it, computes it anew.
"""
BUSY = "while True: pass"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TVM_NUM_THREADS")
WAYS = (
    {"PYTHONHASHSEED": "0"},
    {"PYTHONHASHSEED": "12345", **dict.fromkeys(THREADS, "1")},
    {"PYTHONHASHSEED": "random", **dict.fromkeys(THREADS, "7")},
    {"NPY_DISABLE_CPU_FEATURES": "AVX2,FMA3,AVX512F,AVX512_SKX,X86_V3,X86_V4,AVX512_ICL"},
)


def _begin(program: str, changes: dict[str, str]) -> subprocess.Popen[str]:
    """Start a program; NumPy warns of names of features that it does not know."""
    words = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.Popen(
        words, cwd=ROOT, env={**os.environ, **changes}, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.timeout(1800)
def test_two_answers_are_the_same_to_the_byte_under_load_and_in_other_surroundings() -> None:
    busy = [_begin(BUSY, {})]
    try:
        running = [_begin(PROGRAM, each) for each in WAYS]
        told = [each.communicate()[0].strip() for each in running]
    finally:
        for each in busy:
            each.kill()
            each.communicate()
    assert [DIGEST] * len(WAYS) == told


def test_this_machine_has_the_evidence_of_another_one() -> None:
    assert DIGEST == _begin(PROGRAM, {}).communicate()[0].strip()
