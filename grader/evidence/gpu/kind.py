"""The kind of evidence `gpu`, for all who gather and show evidence."""

from __future__ import annotations

from grader.evidence.gpu.found import GPU, FoundKernels
from grader.evidence.gpu.gather import gather_kernels
from grader.evidence.gpu.view import show_kernels
from grader.evidence.plug import EvidenceKind

ADMITTED = frozenset(
    {
        "thread_binding",
        "storage_scope:shared.dyn",
        "intrinsic:tirx.tvm_storage_sync",
    }
)
"""What a program for a CPU may not have. Nothing of it is compiled: the box computes what it
means."""

KIND: EvidenceKind[FoundKernels] = EvidenceKind(GPU, gather_kernels, show_kernels, admits=ADMITTED)
