"""What single instructions do, in both architectures' assembly."""

from __future__ import annotations

from typing import Any

import pytest

from grader.hotloop.aarch64 import AArch64
from grader.hotloop.instructions import Effect, Instruction, Syntax, read_functions
from grader.hotloop.x86 import X86


def read(line: str) -> Instruction:
    (function,) = read_functions(f"\t.type\tf,@function\nf:\n\t{line}\n")
    (one,) = function.instructions
    return one


def effect(syntax: Syntax, line: str, *, has_frame: bool = False) -> Effect:
    return syntax.effect(read(line), has_frame)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("vfmadd231ps\t%zmm1, %zmm2, %zmm3", {"fused": 16, "bits": 512}),
        ("vfmadd132ss\t%xmm2, %xmm1, %xmm11", {"fused": 1, "bits": 32}),
        ("vfnmadd213pd\t%ymm1, %ymm2, %ymm3", {"fused": 4, "bits": 256}),
        ("vfmadd231ps\t-328(%r9), %ymm3, %ymm11", {"fused": 8, "bits": 256, "loads": 1}),
        ("vfmadd231ps\t(%rax){1to16}, %zmm3, %zmm1", {"fused": 16, "bits": 512, "loads": 1}),
        ("vfmadd231ps\t64(%rsp), %zmm3, %zmm1", {"fused": 16, "bits": 512, "reloads": 1}),
        ("mulps\t%xmm1, %xmm2", {"multiplied": 4, "bits": 128, "kind": "ps"}),
        ("addss\t%xmm1, %xmm2", {"added": 1, "bits": 32, "kind": "ss"}),
        ("vpmulld\t%ymm1, %ymm2, %ymm3", {"multiplied": 8, "bits": 256, "kind": "i"}),
        ("vpmaddwd\t%ymm1, %ymm2, %ymm3", {"fused": 16, "bits": 256}),
        ("vpdpbusd\t%zmm1, %zmm2, %zmm3", {"fused": 64, "bits": 512}),
        ("vmovups\t(%rax), %ymm1", {"loads": 1}),
        ("vmovups\t%ymm1, 8(%rax,%rcx,4)", {"stores": 1}),
        ("vbroadcastss\t4(%r15,%r8,4), %ymm3", {"loads": 1}),
        ("vmovaps\t%zmm1, 128(%rsp)", {"spills": 1}),
        ("vmovaps\t128(%rsp), %zmm1", {"reloads": 1}),
        ("vmovups\t%ymm1, 128(%rsp,%rax)", {"stores": 1}),
        ("movq\t%rax, 8(%rsp)", {}),
        ("vmovups\t(%rbp), %ymm1", {"loads": 1}),
        ("vscatterqps\t%ymm1, (%rdx,%zmm5,4) {%k1}", {"stores": 8}),
        ("vgatherdps\t(%rdx,%zmm5,4), %zmm1 {%k1}", {"loads": 16}),
        ("incl\t(%rax)", {"loads": 1, "stores": 1}),
        ("cmpl\t$3, (%rax)", {"loads": 1}),
        ("leaq\t8(%rax), %rcx", {}),
        ("prefetcht0\t(%rax)", {}),
        ("retq", {}),
    ],
)
def test_of_x86(line: str, expected: dict[str, Any]) -> None:
    assert Effect(**expected) == effect(X86(), line)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fmla\tv19.4s, v23.4s, v1.s[0]", {"fused": 4, "bits": 128}),
        ("fmadd\ts19, s20, s16, s19", {"fused": 1, "bits": 32}),
        ("fmla\tz18.s, p1/m, z19.s, z2.s", {"fused": 1}),
        ("sdot\tv0.4s, v1.16b, v2.16b", {"fused": 16, "bits": 128}),
        ("madd\tw1, w2, w3, w1", {"fused": 1, "bits": 32}),
        ("madd\tx1, x2, x3, x1", {}),
        ("smull\tv30.8h, v24.8b, v26.8b", {"multiplied": 8, "bits": 128, "kind": "i"}),
        ("saddw2\tv4.4s, v4.4s, v24.8h", {"added": 4, "bits": 128, "kind": "i"}),
        ("fmul\tv1.2d, v2.2d, v3.2d", {"multiplied": 2, "bits": 128, "kind": "f"}),
        ("ldp\tq26, q23, [x18, #32]", {"loads": 2}),
        ("ldur\tq24, [x18, #4]", {"loads": 1}),
        ("ld1r\t{ v24.8b }, [x15], #1", {"loads": 1}),
        ("ld1\t{ v0.4s, v1.4s }, [x0]", {"loads": 2}),
        ("ld1w\t{ z18.s }, p2/z, [x6, x23, lsl #2]", {"loads": 1}),
        ("st1w\t{ z18.s }, p2, [x7, x23, lsl #2]", {"stores": 1}),
        ("stp\tq18, q19, [x16, #-64]", {"stores": 2}),
        ("stp\tq18, q19, [sp, #64]", {"spills": 2}),
        ("ldr\tz0, [sp, #3, mul vl]", {"reloads": 1}),
        ("str\tx8, [sp, #8]", {}),
        ("ldr\tq0, [x29, #16]", {"loads": 1}),
        ("add\tx17, x17, #112", {}),
    ],
)
def test_of_aarch64(line: str, expected: dict[str, Any]) -> None:
    assert Effect(**expected) == effect(AArch64(), line)


@pytest.mark.parametrize(
    ("syntax", "line"),
    [(X86(), "vmovups\t(%rbp), %ymm1"), (AArch64(), "ldr\tq0, [x29, #16]")],
)
def test_behind_a_frame_pointer_lies_the_stack(syntax: Syntax, line: str) -> None:
    assert Effect(reloads=1) == effect(syntax, line, has_frame=True)
