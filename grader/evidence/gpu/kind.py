"""The kind of evidence `gpu`, for all who gather and show evidence."""

from __future__ import annotations

from grader.evidence.case import Problem
from grader.evidence.gpu.found import GPU, FoundKernels
from grader.evidence.gpu.gather import gather_kernels, mend_kernels
from grader.evidence.gpu.view import show_kernels
from grader.evidence.plug import EvidenceKind
from grader.ir.facts import Finding
from grader.ir.vocabulary import shown
from grader.language import say

ADMITTED = frozenset(
    {
        "attribute:double_buffer_scope",
        "intrinsic:tirx.tvm_storage_sync",
        "intrinsic:tirx.tvm_warp_activemask",
        "intrinsic:tirx.tvm_warp_shuffle",
        "intrinsic:tirx.tvm_warp_shuffle_down",
        "intrinsic:tirx.tvm_warp_shuffle_up",
        "intrinsic:tirx.tvm_warp_shuffle_xor",
        "pragma:pragma_vectorize",
        "storage_scope:shared.dyn",
        "storage_scope:warp",
        "thread_binding",
    }
)
"""What a program for a CPU may not have. Nothing of it is compiled: the box computes what it
means."""

_TENSOR_CORES = ("mma", "matrix", "fragment", "tcgen05", "m16n8k8")
_COPIES = ("async", "bulk", "mbarrier")


def explain_refusal(finding: Finding) -> Problem | None:
    """Name what of a GPU is not simulated, so that nothing of the part can be judged."""
    subject = finding.subject
    name = subject.lower()
    if finding.code not in ("intrinsic", "storage_scope", "attribute"):
        return None
    if any(each in name for each in _TENSOR_CORES):
        reason, hint = say("gpu-tensor-cores"), say("gpu-without-tensor-cores")
    elif any(each in name for each in _COPIES):
        reason, hint = say("gpu-async-copies"), say("gpu-copy-by-threads")
    elif "atomic" in name or ".atom" in name or ".red" in name:
        reason, hint = say("gpu-atomics"), say("gpu-reduce-by-threads")
    elif name.startswith(("tirx.ptx", "tirx.cuda")):
        reason, hint = say("gpu-operator"), say("gpu-use-what-is-simulated")
    else:
        return None
    return Problem(say(reason, subject=shown(subject)), hint, code="undecided")


KIND: EvidenceKind[FoundKernels] = EvidenceKind(
    GPU,
    gather_kernels,
    show_kernels,
    admits=ADMITTED,
    explains=explain_refusal,
    computed=lambda found: found.outputs,
    mend=mend_kernels,
)
