"""Loops are found by where control goes, and their rounds by their counters."""

from __future__ import annotations

import random

import pytest

from grader.hotloop import find_hot_loop
from grader.hotloop.instructions import MOST_CHARACTERS, read_functions
from grader.hotloop.loops import DEEPEST, UNKNOWN_ROUNDS, Loop, find_loops
from grader.hotloop.x86 import X86
from grader.messages.timing import MOST_COUNTED

FUSED = "\tvfmadd231ps\t(%rax), %ymm1, %ymm2\n"


def loops(body: str) -> list[Loop]:
    (function,) = read_functions(f"\t.type\tf,@function\nf:\n{body}\tretq\n")
    return list(find_loops(function, X86()))


def rounds(body: str) -> list[int]:
    return [each.rounds for each in loops(body)]


class TestRounds:
    def test_up_to_a_number(self) -> None:
        body = "\txorl\t%eax, %eax\n.L:\n\taddq\t$16, %rax\n\tcmpq\t$672, %rax\n\tjne\t.L\n"
        assert [42] == rounds(body)

    def test_from_a_negative_number_up_to_zero(self) -> None:
        assert [26] == rounds("\tmovq\t$-2704, %rbp\n.L:\n\taddq\t$104, %rbp\n\tjne\t.L\n")

    def test_downwards(self) -> None:
        assert [9] == rounds("\tmovl\t$9, %ecx\n.L:\n\tdecq\t%rcx\n\tjne\t.L\n")

    def test_with_the_way_out_in_the_middle(self) -> None:
        body = "\tmovl\t$8, %ebp\n.L:\n\tcmpq\t$128, %rbp\n\tje\t.E\n\taddq\t$8, %rbp\n\tjmp\t.L\n"
        assert [15] == rounds(f"{body}.E:\n\tretq\n")

    @pytest.mark.parametrize(
        "before", ["", "\tmovq\t8(%rsp), %rax\n", "\tmovl\t$700, %eax\n", "\tmovl\t$672, %eax\n"]
    )
    def test_where_the_text_does_not_say_it(self, before: str) -> None:
        body = f"{before}.L:\n\taddq\t$16, %rax\n\tcmpq\t$672, %rax\n\tjne\t.L\n"
        assert [UNKNOWN_ROUNDS] == rounds(body)

    def test_a_loop_in_a_loop_is_done_as_often_as_both_say(self) -> None:
        inner = "\tmovl\t$3, %ecx\n.I:\n\tdecl\t%ecx\n\tjne\t.I\n"
        body = f"\txorl\t%eax, %eax\n.O:\n{inner}\tincq\t%rax\n\tcmpq\t$5, %rax\n\tjne\t.O\n"
        assert [5, 15] == rounds(body)


class TestLoops:
    def test_a_jump_back_to_the_block_that_returns_is_none(self) -> None:
        assert [] == loops(".R:\n\tretq\n.A:\n\tincq\t%rax\n\tjmp\t.R\n")

    def test_labels_that_nothing_jumps_to_divide_nothing(self) -> None:
        body = "\tmovl\t$9, %ecx\n.L:\n\tdecq\t%rcx\n.Ltmp1:\n\tleaq\t8(%rax), %rax\n\tjne\t.L\n"
        assert [9] == rounds(body)

    def test_instructions_belong_to_the_innermost_loop_alone(self) -> None:
        inner = f".I:\n{FUSED}\tdecl\t%ecx\n\tjne\t.I\n"
        outer, within = loops(f".O:\n\tmovl\t$3, %ecx\n{inner}\tdecl\t%edx\n\tjne\t.O\n")
        assert (["movl", "decl", "jne"], ["vfmadd231ps", "decl", "jne"]) == (
            [each.name for each in outer.instructions],
            [each.name for each in within.instructions],
        )

    def test_of_two_the_one_that_does_more_is_hot(self) -> None:
        def counted(label: str, often: int, body: str) -> str:
            return f"\tmovl\t${often}, %ecx\n{label}:\n{body}\tdecl\t%ecx\n\tjne\t{label}\n"

        body = counted(".A", 4, 3 * FUSED) + counted(".B", 90, FUSED)
        found = find_hot_loop(f"\t.type\tf,@function\nf:\n{body}")
        assert found is not None
        assert 1 == found.multiply_adds


class TestOddText:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "\0" * 100,
            "no assembly at all",
            "\t.type\tf,@function\n",
            "\t.type\tf,@function\nf:\n\tjmp\t.L\n\t%rax\n",
            "\t.type\tf,@function\nf:\n\tjne\n\tadd\n\tvfmadd231ps\n\tvgatherdps\t(%rax\n\tldp\n",
            "\t.type\tf,@function\n.L:\n\tvfmadd231ps\t)(,,,{%rsp\n\tcmpq\t$9,\n\tjmp\t.L\n",
            "\t.type\tf,@function\n.L:\n\tldp\t[sp\n\tfmla\t}{\n\tcmp\tx1\n\tb\t.L\n",
            "\t.type\tf,@function\n.L:\n" + FUSED + "\tjmp\t.L" + "x" * 1000 + "\n",
        ],
    )
    def test_none_is_found(self, text: str) -> None:
        assert find_hot_loop(text) is None

    def test_a_text_that_is_too_long_is_not_read(self) -> None:
        text = f"\t.type\tf,@function\nf:\n.L:\n{FUSED}\tjmp\t.L\n"
        assert find_hot_loop(text) is not None
        assert find_hot_loop(text + "\n" * MOST_CHARACTERS) is None

    def test_counts_are_bounded(self) -> None:
        text = "\t.type\tf,@function\nf:\n.L:\n" + "\tvpdpbusd\t%zmm1, %zmm2, %zmm3\n" * 20_000
        found = find_hot_loop(f"{text}\tjmp\t.L\n\tmovl\t(%rax), %eax\n")
        assert found is not None
        assert MOST_COUNTED == found.products

    def test_loops_nest_as_deep_as_they_like(self) -> None:
        labels = [f".L{number}" for number in range(500)]
        text = "".join(f"{each}:\n\tincq\t%rax\n" for each in labels) + FUSED
        text += "".join(f"\tjne\t{each}\n" for each in reversed(labels))
        assert DEEPEST == len(list(loops(text)))

    def test_a_loop_has_as_many_ways_out_as_it_likes(self) -> None:
        ways = "\tincq\t%rax\n\tcmpq\t$9, %rax\n\tje\t.E\n" * 5_000
        assert [UNKNOWN_ROUNDS] == rounds(f".L:\n{ways}\tjmp\t.L\n.E:\n")

    def test_any_jumbled_lines_end(self) -> None:
        generator = random.Random(1)
        lines = [
            FUSED,
            *(f".L{number}:\n" for number in range(40)),
            *(f"\t{jump}\t.L{number}\n" for jump in ("jne", "jmp") for number in range(40)),
            "\taddq\t$8, %rax\n",
            "\tcmpq\t$80, %rax\n",
            "\txorl\t%eax, %eax\n",
            "\tretq\n",
        ]
        for _ in range(200):
            loops("".join(generator.choices(lines, k=200)))
