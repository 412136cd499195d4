"""Cells in old dialects, and what must stay as it is."""

from __future__ import annotations

import pytest

from grader.dialects.migration import Left, migrate_cells
from grader.language import say


def migrated(*cells: str) -> str:
    """Return the last of some cells after migration."""
    return migrate_cells(cells).sources[-1]


class TestImports:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("from tvm.script import tir as S", "from tvm.script import tirx as S"),
            ("from tvm.script import tir", "from tvm.script import tirx as tir"),
            ("import tvm.script.tir as S", "import tvm.script.tirx as S"),
            ("from tvm.relax.vm import build", "from tvm.relax import build"),
            (
                "from tvm import register_func",
                "from tvm import register_global_func as register_func",
            ),
            (
                "from tvm.tir import Schedule, PrimFunc as P",
                "from tvm.s_tir import Schedule; from tvm.tirx import PrimFunc as P",
            ),
            ("import numpy as np, tvm.nd as nd", "import numpy as np, tvm.runtime as nd"),
            (
                "from tvm.script import (\n    relax as R,  # graphs\n    tir as T,\n)",
                "from tvm.script import (\n    relax as R,  # graphs\n    tirx as T,\n)",
            ),
            ("from tvm.tir import *", "from tvm.tirx import *"),
        ],
    )
    def test_names_keep_their_local_spelling(self, old: str, new: str) -> None:
        assert new == migrated(old)

    def test_an_import_in_one_cell_counts_in_all(self) -> None:
        imported = "from tvm.script import tir as Q"
        assert "x = Q.sblock_attr({})" == migrated(
            "x = Q.block_attr({})", imported, "x = Q.block_attr({})"
        )

    def test_a_name_that_an_import_does_not_reach_is_spelt_from_tvm_on(self) -> None:
        assert "s = tvm.s_tir.Schedule(m)" == migrated(
            "import tvm\nfrom tvm import tir", "s = tir.Schedule(m)"
        )

    def test_a_name_that_a_cell_binds_to_something_else_is_not_used(self) -> None:
        imports = "import tvm\nfrom tvm import relax\nfrom tvm.relax.op import call_tir"
        old, new = "(1, 2), dtype='float32')", "tvm.relax.TensorType((1, 2), dtype='float32'))"
        call = "call_tir(f, (x,), "
        assert call + new == migrated(imports, "relax = 3", call + old)

    def test_a_name_that_nothing_reaches_is_left(self) -> None:
        migration = migrate_cells(["from tvm.relax import vm\ntvm = relax = 0", "vm.build(m)"])
        assert "vm.build(m)" == migration.sources[1]
        (left,) = migration.left
        assert (1, 1, "tvm.relax.vm.build") == (left.cell, left.line, left.what.english)

    def test_an_operator_is_called_directly_too(self) -> None:
        imports, call = "from tvm import topi", "topi.nn.conv2d(x, w, 1, 0, 1, 'NCHW', "
        assert f"{call}out_dtype='float32')" == migrated(imports, f"{call}'float32')")


class TestWhatStays:
    @pytest.mark.parametrize(
        "source",
        [
            "",
            "x = 1  # sch.get_block('B')\n",
            "text = 'tvm.nd.array'\n",
            "T = matrix.T\nT.block(3)",
            "from board import R, T\nR.relu(T.block('x'))",
            "def f(T):\n    return T.block('x')\n",
            "class Board:\n    def get_block(self): ...\nBoard().get_block()",
            "from torch import nd\nnd.array(3)",
            "x = relax.Var('x', R.Tensor((2, 2), 'float32'), span)",
            "relax.Var(*arguments)",
            "R.call_tir(cls.f, (x,), R.Tensor((2,), 'float32'))",
            "y = topi.nn.conv2d(x, w, 1, 0, 1, 'NCHW', 'OIHW')",
            "torch.nn.functional.conv2d(x, w, layout='NCHW')",
            "B = T.alloc_buffer((8,))",
            "from .tvm.tir import Schedule",
            "relax.build(mod, 'llvm')",
            "tvm.target.Target('cuda -arch=sm_70')",
            "R.call_tir(f, (x,), dtype='float32', shape=(1, 2))",
            "%%time\nimport tvm\nfrom __future__ import annotations",
        ],
    )
    def test_what_is_not_of_an_old_dialect_does_not_change(self, source: str) -> None:
        migration = migrate_cells([source])
        assert ((source,), ()) == (migration.sources, migration.changes)

    def test_comments_and_spaces_stay(self) -> None:
        old = (
            "x = relax.Var(  # the input\n    'x', (1, 2),   # its shape\n"
            "    relax.DynTensorType( 2,  'float32' ) ,  # its type\n)\n"
        )
        new = (
            "x = relax.Var(  # the input\n    'x', relax.TensorType((1, 2),   # its shape\n"
            "    'float32' ) ,  # its type\n)\n"
        )
        assert new == migrated(old)

    @pytest.mark.parametrize(
        "source",
        [
            "x = (tvm\n     .nd\n     .array(1))",
            "from tvm.tir import (\n    Schedule,\n    PrimFunc,\n)",
        ],
    )
    def test_what_stands_on_several_lines_may_be_left(self, source: str) -> None:
        migration = migrate_cells([source])
        assert ((source,), 1) == (migration.sources, len(migration.left))

    def test_a_cell_that_is_not_python_is_listed_and_others_change(self) -> None:
        migration = migrate_cells(["def f(:", "tvm.nd.array(x)"])
        assert ("def f(:", "tvm.runtime.tensor(x)") == migration.sources
        wanted = Left(0, 1, say("the-cell"), say("cell-not-python-line", line=1))
        assert (wanted,) == migration.left

    def test_cells_are_never_joined(self) -> None:
        assert ("if x:", "    tvm.nd.array(x)") == migrate_cells(
            ["if x:", "    tvm.nd.array(x)"]
        ).sources


class TestCalls:
    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (
                "relax.Var('x', shape, relax.DynTensorType(ndim=2, dtype='int64'))",
                "relax.Var('x', relax.TensorType(shape, dtype='int64'))",
            ),
            (
                "relax.Var('x', shape, relax.DynTensorType(2))",
                "relax.Var('x', relax.TensorType(shape))",
            ),
            (
                "relax.Var('x', [n, m], relax.TensorType(2, 'float32'))",
                "relax.Var('x', relax.TensorType([n, m], 'float32'))",
            ),
            (
                "kind = relax.DynTensorType(2, 'float32')\nx = relax.Var('x', (1, 2), kind)",
                "kind = relax.TensorType(ndim=2, dtype='float32')\n"
                "x = relax.Var('x', relax.TensorType((1, 2), kind.dtype))",
            ),
            (
                "kind = relax.DynTensorType(2, 'float32')\nw = relax.const(a, kind)",
                "kind = relax.TensorType(ndim=2, dtype='float32')\nw = relax.const(a, kind.dtype)",
            ),
            (
                "relax.const(a, relax.TensorStructInfo(a.shape, dtype='float32'))",
                "relax.const(a, 'float32')",
            ),
            (
                "relax.op.call_tir('env.f', (x,), (1, 2), 'float32')",
                "relax.op.call_dps_packed('env.f', (x,), relax.TensorType((1, 2), 'float32'))",
            ),
            (
                "relax.call_tir('env.f', (x,), (1, 2), 'float32')",
                "relax.op.call_dps_packed('env.f', (x,), relax.TensorType((1, 2), 'float32'))",
            ),
            (
                "R.call_tir(f, (x,), shape=(1, 2), dtype='float32')",
                "R.call_tir(f, (x,), out_ty=R.Tensor((1, 2), dtype='float32'))",
            ),
            (
                "relax.build(mod, 'llvm -mcpu=skylake -num-cores=4')",
                "relax.build(mod, tvm.target.Target("
                '{"kind": "llvm", "mcpu": "skylake", "num-cores": 4}))',
            ),
        ],
    )
    def test_arguments_find_their_place(self, old: str, new: str) -> None:
        assert new == migrated(old)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (
                "[(1, 2), (3,)], dtype=['float32', 'int64']",
                "[R.Tensor((1, 2), 'float32'), R.Tensor((3,), 'int64')]",
            ),
            (
                "((1, 2), [n]), 'float32'",
                "[R.Tensor((1, 2), 'float32'), R.Tensor([n], 'float32')]",
            ),
            (
                "shape=[(1,), (2,)], dtype=('int8', 'int64')",
                "out_ty=[R.Tensor((1,), 'int8'), R.Tensor((2,), 'int64')]",
            ),
        ],
    )
    def test_several_outputs_have_a_list_of_types(self, old: str, new: str) -> None:
        assert f"R.call_tir(f, (x,), {new})" == migrated(f"R.call_tir(f, (x,), {old})")

    @pytest.mark.parametrize(
        "outputs",
        ["[first, second], 'int8'", "[(1,), (2,)], kinds", "[s for s in t], 'int8'"],
    )
    def test_several_outputs_that_are_not_written_out_are_left(self, outputs: str) -> None:
        source = f"R.call_tir(f, (x,), {outputs})"
        migration = migrate_cells([source])
        assert ((source,), 1) == (migration.sources, len(migration.left))

    def test_what_is_taken_out_is_not_rewritten(self) -> None:
        assert "relax.Var('x', relax.TensorType(s, 'int8'))" == migrated(
            "relax.Var('x', s, relax.DynTensorType(tvm.nd.array(2), 'int8'))"
        )


class TestScript:
    def test_a_function_without_blocks_keeps_its_decorator_and_buffers(self) -> None:
        source = "@T.prim_func\ndef f(a: T.handle):\n    B = T.alloc_buffer((8,))\n"
        assert source == migrated(source)

    def test_arguments_of_a_decorator_stay(self) -> None:
        source = "@T.prim_func(private=True)\ndef f():\n    with T.block('B'): ...\n"
        assert "@T.prim_func(s_tir=True, private=True)" == migrated(source).split("\n")[0]

    def test_a_parameter_hides_a_function_of_the_module(self) -> None:
        source = (
            "@tvm.script.ir_module\nclass M:\n    @T.prim_func\n    def f(): ...\n"
            "    @R.function\n    def main(f: R.Tensor((2,))):\n        return f(f)\n"
        )
        assert source == migrated(source)

    def test_it_hides_it_as_an_argument_too(self) -> None:
        source = (
            "@tvm.script.ir_module\nclass M:\n    @T.prim_func\n    def f(): ...\n"
            "    @R.function\n    def main(f: R.Tensor((2,))):\n"
            "        return R.call_tir(f, (), R.Tensor((2,)))\n"
        )
        assert source == migrated(source)

    def test_a_bare_tensor_is_that_of_the_decorator(self) -> None:
        old = "from tvm.script import relax as X\n@X.function\ndef f(x: Tensor((2,))): ...\n"
        assert old.replace("Tensor(", "X.Tensor(") == migrated(old)

    def test_a_tensor_outside_of_relax_stays(self) -> None:
        source = "@R.function\ndef f(x: R.Tensor((2,))): ...\ny = Tensor((2,))\n"
        assert source == migrated(source)


class TestCommands:
    def test_magics_and_commands_survive(self) -> None:
        lines = [
            "!pip install tvm \\",
            "   --pre",
            "%matplotlib inline",
            "files = !ls",
            "if True:",
            "    !wget -nc http://example.com/x",
            "    x = tvm.nd.array(files)",
            "x.asnumpy?",
        ]
        new = [*lines]
        new[6] = "    x = tvm.runtime.tensor(files)"
        assert "\n".join(new) == migrated("\n".join(lines))

    def test_a_remainder_at_the_beginning_of_a_line_is_no_magic(self) -> None:
        source = "x = (7\n%y)\nz = tvm.nd.array(x)"
        assert source.replace("nd.array", "runtime.tensor") == migrated(source)

    def test_the_python_below_a_timing_magic_changes(self) -> None:
        assert "%%time\nex = relax.build(m)" == migrated("%%time\nex = relax.vm.build(m)")

    def test_other_languages_stay_and_are_not_listed(self) -> None:
        source = "%%bash\npython -c 'tvm.nd.array'"
        migration = migrate_cells([source])
        assert ((source,), ()) == (migration.sources, migration.left)


class TestLines:
    def test_almost_always_lines_stay_where_they_are(self) -> None:
        migration = migrate_cells(["import tvm\n\nx = tvm.nd.array(\n    1\n)"])
        assert ((1, 2, 3, 4, 5),) == migration.lines

    def test_what_is_taken_out_keeps_the_ends_of_its_lines(self) -> None:
        old = "x = relax.Var('x', (1,), relax.DynTensorType(\n    1,\n    'float32'))\ny = 1"
        migration = migrate_cells([old])
        assert ((1, 2, 3, 4),) == migration.lines
        assert migration.sources[0].endswith("\ny = 1")

    def test_what_has_moved_is_found(self) -> None:
        migration = migrate_cells(["import tvm\nfrom __future__ import annotations\nx = 1\n"])
        assert "from __future__ import annotations\nimport tvm\nx = 1\n" == migration.sources[0]
        assert (1, 3, 4) == migration.lines[0][1:]

    def test_what_was_last_leaves_no_empty_line(self) -> None:
        assert "from __future__ import annotations\nx = 1" == migrated(
            "x = 1\nfrom __future__ import annotations"
        )

    def test_changes_name_rows_cells_and_lines(self) -> None:
        migration = migrate_cells(["x = 1", "import tvm\nx = tvm.nd.array(tvm.nd.array(1))"])
        (change,) = migration.changes
        assert ("nd-array", 1, 2) == (change.row, change.cell, change.line)

    def test_characters_of_several_bytes_do_not_shift_a_change(self) -> None:
        assert "'모델', tvm.runtime.tensor('端')" == migrated("'모델', tvm.nd.array('端')")

    def test_line_ends_of_windows_stay(self) -> None:
        assert "x = 1\r\ny = tvm.runtime.tensor(x)\r\n" == migrated(
            "x = 1\r\ny = tvm.nd.array(x)\r\n"
        )


OLD_PROGRAM = """\
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer[(4,), "float32"]):
    with T.block("A"):
        A[0] = 1.0
"""

NEW_PROGRAM = """\
from tvm.script import tirx as T
@T.prim_func(s_tir=True)
def f(A: T.Buffer((4,), "float32")):
    with T.sblock("A"):
        A[0] = 1.0
"""


class TestProgramsElsewhere:
    """Code in written files and in texts runs in today's TVM like the cells around it."""

    @pytest.mark.parametrize("magic", ["%%writefile", "%%file", "%%writefile -a"])
    def test_a_cell_that_writes_a_file_of_python_is_rewritten(self, magic: str) -> None:
        head = f"{magic} layers.py\n"
        assert head + NEW_PROGRAM == migrated(head + OLD_PROGRAM)

    @pytest.mark.parametrize("head", ["%%writefile notes.md\n", "%%bash\n", "%%writefile\n"])
    def test_a_cell_of_another_language_stays(self, head: str) -> None:
        assert head + OLD_PROGRAM == migrated(head + OLD_PROGRAM)

    def test_a_program_in_a_text_is_rewritten_where_it_stands(self) -> None:
        old, new = (
            f"import tvm\nmod = tvm.script.from_source('''\n{each}''')"
            for each in (OLD_PROGRAM, NEW_PROGRAM)
        )
        migration = migrate_cells([old])
        assert (new,) == migration.sources
        assert {3, 4, 5, 6} == {change.line for change in migration.changes}

    def test_what_is_left_of_a_text_has_the_line_in_the_cell(self) -> None:
        text = "x = 1\ntvm.lower(f)\n"
        source = f"import tvm\nmod = tvm.script.from_source('''\n{text}''')"
        (left,) = migrate_cells([source]).left
        assert (4, "tvm.lower") == (left.line, left.what.english)

    def test_a_text_with_escapes_is_listed_if_it_would_change(self) -> None:
        source = "m = tvm.script.from_source('@T.prim_func\\ndef f():\\n    T.block()\\n')"
        migration = migrate_cells([source])
        assert (source,) == migration.sources
        assert ["from_source"] == [each.what.english for each in migration.left]
        today = source.replace("T.prim_func", "T.prim_func(s_tir=True)")
        assert () == migrate_cells([today.replace("T.block", "T.sblock")]).left


class TestDevices:
    @pytest.mark.parametrize(
        "other", ["target = 'cuda'", "for target in names: pass", "def f(target): pass"]
    )
    def test_a_name_that_is_bound_to_anything_else_too_stays(self, other: str) -> None:
        source = f"import tvm\ntarget = 'llvm'\n{other}\ntvm.device(target)"
        assert source == migrated(source)
