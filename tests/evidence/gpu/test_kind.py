"""What of a GPU a module may have, and why another one is refused."""

# ruff: noqa: N803, N806

import pytest
import tvm
from tvm import IRModule
from tvm.script import tirx as T  # noqa: N812 - TVM's own name for it

from grader.evidence.gpu.kind import KIND, explain_refusal
from grader.evidence.plug import Admission
from grader.ir.facts import Finding
from grader.ir.read import read_module
from grader.language import foreign


@T.prim_func
def tensor_cores(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        C = T.alloc_buffer((256,), "float32", scope="wmma.accumulator")
        C[tx] = A[tx]
        B[tx] = C[tx]


@T.prim_func
def waits_for_copies(A: T.Buffer((256,), "float32"), B: T.Buffer((256,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        T.evaluate(T.ptx.cp.async_.wait_all())
        B[tx] = A[tx]


def _told(function: object) -> str:
    facts = read_module(tvm.ir.save_json(IRModule({"main": function})).encode())
    admission = Admission(KIND.admits, (KIND.explains,))
    first = next(each for each in facts.findings if not admission.admits(each))
    problem = admission.explained(first)
    assert problem is not None
    assert "undecided" == problem.code
    return problem.reason.english


@pytest.mark.parametrize(
    ("function", "words"),
    [(tensor_cores, "tensor cores"), (waits_for_copies, "copies asynchronously")],
)
def test_what_is_not_judged_is_named(function: object, words: str) -> None:
    told = _told(function)
    assert words in told
    assert "nothing of this part can be judged" in told


@pytest.mark.parametrize(
    ("code", "subject", "words"),
    [
        ("intrinsic", "tirx.tvm_mma_sync", "tensor cores"),
        ("intrinsic", "tirx.ptx.ldmatrix", "tensor cores"),
        ("intrinsic", "tirx.ptx.tcgen05_mma_ss", "tensor cores"),
        ("intrinsic", "tirx.ptx.cp_async_ca", "copies asynchronously"),
        ("intrinsic", "tirx.cuda.atomic_add", "atomic"),
        ("intrinsic", "tirx.ptx.lop3", "not simulated"),
        ("attribute", "software_pipeline_async_stages", "copies asynchronously"),
        ("storage_scope", "wmma.matrix_a", "tensor cores"),
    ],
)
def test_each_group_has_its_sentence(code: str, subject: str, words: str) -> None:
    problem = explain_refusal(Finding(code, subject, "main", foreign("")))
    assert problem is not None
    assert words in problem.reason.english
    assert subject in problem.reason.english


def test_what_is_called_by_a_name_is_refused_as_everywhere() -> None:
    assert explain_refusal(Finding("packed_call", "mma", "main", foreign(""))) is None
