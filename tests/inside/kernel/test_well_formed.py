"""A loop's variable in a block is named, with what belongs there: each test has its own process."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from grader.messages.kernel import LoopVariable
from tests.inside.kernel.test_compatibility import Output

SCRIPT = """
from tvm.script import ir as I, tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def product(A: T.Buffer((4, 8), "float32"), B: T.Buffer((8, 4), "float32"),
                C: T.Buffer((4, 4), "float32")):
        for i, j, k in T.grid(4, 4, 8):
            with T.sblock("sum"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, COLUMN] = C[vi, vj] + A[vi, SUMMED] * B[SUMMED, vj]
"""

TRY = """
import sys
sys.path.insert(0, FOLDER)
from grader.inside.kernel.compatibility import explain_loop_variables
accepted = []
explain_loop_variables(accepted.append if ACCEPT else None)
try:
    import script
    print("accepted", *accepted)
except Exception as error:
    from grader.inside.kernel.faults import describe_error
    print(describe_error(error))
    if TELLS:
        from grader.inside.kernel.compatibility import refused_variable
        print(refused_variable(error))
        print(refused_variable(ValueError(error)), refused_variable(None))
"""


def tried(
    output_of: Output,
    folder: Path,
    column: str,
    summed: str,
    *,
    accept: bool = False,
    tells: bool = False,
) -> str:
    text = SCRIPT.replace("COLUMN", column).replace("SUMMED", summed)
    (folder / "script.py").write_text(text)
    program = TRY.replace("FOLDER", repr(str(folder))).replace("ACCEPT", str(accept))
    return output_of(program.replace("TELLS", str(tells)))


@pytest.mark.parametrize(
    ("column", "summed", "told"),
    [
        (
            "j",
            "vi",
            'In block "sum" of `product`, `j` is a loop\'s variable and not the axis `vj`.',
        ),
        (
            "vj",
            "k",
            'In block "sum" of `product`, `k` is a loop\'s variable and has no axis, which is'
            " `T.axis.reduce(8, k)`.",
        ),
    ],
)
def test_it_is_told_which_axis_belongs_there(
    column: str, summed: str, told: str, output_of: Output, tmp_path: Path
) -> None:
    assert told == tried(output_of, tmp_path, column, summed)


@pytest.mark.parametrize(
    ("column", "summed", "found"),
    [
        ("j", "vi", LoopVariable("sum", "product", "j", axis="vj")),
        ("vj", "k", LoopVariable("sum", "product", "k", kind="reduce", extent="8")),
        ("vj", "T.int32()", None),
    ],
)
def test_the_error_says_it_as_a_value_too(
    column: str, summed: str, found: LoopVariable | None, output_of: Output, tmp_path: Path
) -> None:
    told = tried(output_of, tmp_path, column, summed, tells=True)
    assert [str(found), "None None"] == told.splitlines()[1:]


NESTED = """
from tvm.script import ir as I, tirx as T

@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def windows(A: T.Buffer((9, 9), "float32"), C: T.Buffer((8, 8), "float32")):
        for i, j in T.grid(8, 8):
            with T.sblock("window"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.float32(0)
                for y, x in T.grid(2, 2):
                    with T.sblock("add"):
                        vy, vx = T.axis.remap("RR", [y, x])
                        C[vi, vj] = C[vi, vj] + A[vi + y, vj + x]
"""


@pytest.mark.parametrize("accept", [False, True])
def test_all_of_a_block_within_a_block_are_told(
    accept: bool, output_of: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TVM says of the inner block that the variable is defined in the outer one."""
    monkeypatch.setattr(f"{__name__}.SCRIPT", NESTED)
    told = tried(output_of, tmp_path, "", "", accept=accept, tells=True)
    y, x = (LoopVariable("add", "windows", each, axis=f"v{each}") for each in "yx")
    assert str(msgspec.structs.replace(y, others=(x,))) in told
    assert accept == told.startswith("accepted")


def test_a_name_that_is_too_long_is_not_told_as_a_value(
    output_of: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.SCRIPT", SCRIPT.replace('"sum"', f'"{"s" * 81}"'))
    told = tried(output_of, tmp_path, "j", "vi", tells=True).splitlines()
    assert "`j` is a loop's variable and not the axis `vj`" in told[0]
    assert ["None", "None None"] == told[1:]


def test_it_is_let_pass_where_an_earlier_version_did(output_of: Output, tmp_path: Path) -> None:
    told = tried(output_of, tmp_path, "j", "k", accept=True)
    assert "accepted LoopVariable(block='sum', function='product', name='" in told


@pytest.mark.parametrize("accept", [False, True])
def test_what_is_right_passes_and_what_is_wrong_otherwise_does_not(
    accept: bool, output_of: Output, tmp_path: Path
) -> None:
    assert "accepted" == tried(output_of, tmp_path, "vj", "vi", accept=accept)
    assert "well-formed" in tried(output_of, tmp_path, "vj", "T.int32()", accept=accept)
