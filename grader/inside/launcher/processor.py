"""Instructions that a processor's name promises and that the system does not let programs use."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

_CHECKED_FEATURES = (
    "avx",
    "avx2",
    "fma",
    "f16c",
    "avx512f",
    "avx512bw",
    "avx512cd",
    "avx512dq",
    "avx512vl",
)
"""Features that a virtual machine may hide although its processor's name promises them: an EPYC
that is a znver4 to LLVM, with AVX-512 turned off. LLVM and the kernel spell them alike."""


def hidden_features(promised: Iterable[object], cpuinfo: Path = Path("/proc/cpuinfo")) -> list[str]:
    """Return the features that the processor's name promises and the system does not show.

    `promised` are those of LLVM's target for that name, by LLVM's spelling. What is compiled for
    one that is hidden ends its process by SIGILL. Raises OSError where `cpuinfo` cannot be read.
    """
    lines = cpuinfo.read_text().splitlines()
    flags = next((line.split(":")[1].split() for line in lines if line.startswith("flags")), None)
    if flags is None:
        return []
    names = {str(feature) for feature in promised}
    return [each for each in _CHECKED_FEATURES if each in names and each not in flags]
