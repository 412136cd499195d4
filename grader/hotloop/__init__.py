"""What the hot loop of a compiled function does: numbers, read from the assembly that LLVM prints.

Why one schedule is slower than another can be seen in its machine code, and is the same on every
run: how many numbers an instruction multiplies, how often memory is read and written for it, and
what does not fit the registers. The text comes from a compiler that was given a submission's
module, so it is read in the process that compiled it, within bounds, and only numbers leave that.

The text is read by `x86.py` or `aarch64.py` (one instruction each), `loops.py` (which loops there
are, how deep, how many rounds) and `analysis.py` (which of them is hot, and what it does).
"""

from grader.hotloop.analysis import find_hot_loop

__all__ = ["find_hot_loop"]
