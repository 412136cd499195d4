"""The project's own solved notebooks, in the spellings of earlier years.

A table that goes the other way than the one of the migration, and knows nothing of it: what these
notebooks would have said in 2022, in 2023 and 2024, and in 2025.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[2]

Table = tuple[tuple[str, str], ...]

SCHEDULE = """sch = tvm.s_tir.Schedule(mod)
block = sch.get_sblock("conv2d_nchw", func_name="conv2d")
sch.compute_inline(sch.get_sblock("pad_temp", func_name="conv2d"))
n, c, y, x, i, dy, dx = sch.get_loops(block)
c0, c1 = sch.split(c, factors=[None, 4])
y0, y1 = sch.split(y, factors=[None, 2])
x0, x1 = sch.split(x, factors=[None, 13])
sch.reorder(n, c0, y0, x0, i, dy, dx, c1, y1, x1)
sch.parallel(n)
sch.vectorize(x1)
sch.unroll(dx)
sch.decompose_reduction(block, i)
sch.show()
"""
"""A schedule of e2e-conv in primitives that were there in 2022; loops were not cut into parts."""

BLOCKS: Table = (
    (r"\bfrom tvm\.script import tirx as T\b", "from tvm.script import tir as T"),
    (r"\btvm\.tirx\.", "tvm.tir."),
    (r"\btvm\.s_tir\.Schedule\b", "tvm.tir.Schedule"),
    (r"\.get_sblock\(", ".get_block("),
    (r"\bT\.sblock\(", "T.block("),
    (r"\bT\.sblock_alloc_buffer\(", "T.alloc_buffer("),
    (r"@T\.prim_func\(s_tir=True\)", "@T.prim_func"),
    (r'"tirx\.noalias": True', '"tir.noalias": True'),
)
"""What TensorIR had in all years before."""

ARRAYS: Table = (
    (r"\btvm\.runtime\.tensor\b", "tvm.nd.array"),
    (r"\btvm\.register_global_func\b", "tvm.register_func"),
    (r"\btvm\.compile\(", "tvm.build("),
    (r"\bexecutable\.mod\.time_evaluator\b", "executable.time_evaluator"),
    (r"\bbuilt = \[tvm\.build\(mod, cpu\)\.mod for", "built = [tvm.build(mod, cpu) for"),
)
"""What went with the arrays of that name, and returned modules for libraries of functions."""

SHAPE = r"\((?:[^()]*)\)"

TABLES: dict[str, Table] = {
    "2025": (
        *BLOCKS,
        (r"\.ty\b", ".struct_info"),
        (rf"(call_dps_packed\([^\n]*, )(R\.Tensor\({SHAPE}, \"float32\"\)\))", r"\1out_sinfo=\2"),
        (rf"(R\.call_tir\([^\n]*, )(R\.Tensor\({SHAPE}, \"float32\"\)\))", r"\1out_sinfo=\2"),
    ),
    "2023-24": (
        *BLOCKS,
        *ARRAYS,
        (r"\.ty\b", ".struct_info"),
        (rf"(call_dps_packed\([^\n]*, )(R\.Tensor\({SHAPE}, \"float32\"\)\))", r"\1out_sinfo=\2"),
        (rf"(R\.call_tir\([^\n]*, )(R\.Tensor\({SHAPE}, \"float32\"\)\))", r"\1out_sinfo=\2"),
        (r"(relax\.Var\([^\n]*, )R\.Tensor\(", r"\1relax.TensorStructInfo("),
    ),
    "2022": (
        (r"^from tvm\.script import ir as I\n", ""),
        (r"@I\.ir_module", "@tvm.script.ir_module"),
        (r'tvm\.target\.Target\.from_device\("cpu"\)', '"llvm"'),
        (r"^ +cls = \w+\n", ""),
        (
            rf"(R\.call_tir\()cls\.(.*), R\.Tensor\(({SHAPE}), (\"float32\")\)\)",
            r"\1\2, \3, dtype=\4)",
        ),
        (
            rf"R\.call_dps_packed\((.*), R\.Tensor\(({SHAPE}), (\"float32\")\)\)",
            r"R.call_tir(\1, \2, dtype=\3)",
        ),
        (
            r"relax\.op\.call_dps_packed\((.*), result_type\)",
            r'relax.op.call_tir(\1, result_type, dtype="float32")',
        ),
        (rf"result_type = R\.Tensor\(({SHAPE}), \"float32\"\)", r"result_type = \1"),
        (
            r"relax\.Var\((.*), R\.Tensor\((input_shape), (\"float32\")\)\)",
            r"relax.Var(\1, \2, relax.DynTensorType(4, \3))",
        ),
        (
            r"relax\.Var\((.*), R\.Tensor\((shape), (\"float32\")\)\)",
            r"relax.Var(\1, \2, relax.DynTensorType(len(\2), \3))",
        ),
        (
            rf"relax\.Var\((.*), R\.Tensor\(({SHAPE}), (\"float32\")\)\)",
            r"relax.Var(\1, \2, relax.DynTensorType(2, \3))",
        ),
        (rf"(: )R\.(Tensor\({SHAPE}, \"float32\"\))", r"\1\2"),
        (rf"\bT\.Buffer\(({SHAPE}, \"\w+\")\)", r"T.Buffer[\1]"),
        (r"\brelax\.build\(", "relax.vm.build("),
        (r"\brelax\.op\.linear\(", "relax.op.dense("),
        (r"\brelax\.op\.nn\.relu\(", "relax.op.relu("),
        (r", sums\.ty\)", ")"),
        *BLOCKS,
        *ARRAYS,
    ),
}


_BRISK: Table = (
    (r"\bcount=(256|8|2)\b", "count=4"),
    (r"\bnumber=(200|3)\b", "number=1"),
    (r"\b(repeat|rounds)=5\b", r"\1=1"),
    (r"^plt\.\w+\(.*\n?", ""),
)
"""Checks and measurements of the notebooks themselves, made short."""

_LATER = ("ipython", "%grader", "loop_partition(i", "pure=False")


def solved(slug: str) -> list[str]:
    """Return the code cells of an assignment's solved notebook, with what every year had.

    Left out are checks of the grader's own, and primitives and impure functions of later years.
    """
    notebook = nbformat.read(ROOT / "examples" / slug / "reference.ipynb", as_version=4)
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    cells = [cell for cell in cells if not any(word in cell for word in _LATER)]
    once = (*_BRISK, (r"^print\(make_runner\(TwoBlocks\).*", ""))
    cells = [_respell(cell, once) for cell in cells]
    return [SCHEDULE if "loop_partition" in cell else cell for cell in cells]


def in_dialect(cells: list[str], dialect: str) -> list[str]:
    """Say cells as they were said in a dialect."""
    return [_respell(cell, TABLES[dialect]) for cell in cells]


def _respell(text: str, table: Table) -> str:
    for pattern, replacement in table:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    if re.search(r"^@tvm\.script\.ir_module[\s\S]*: Tensor\(", text, re.MULTILINE):
        text = f"from __future__ import annotations\n{text}"
    return text
