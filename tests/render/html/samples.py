"""Reports with everything that a page can show."""

from __future__ import annotations

import base64
import struct
import zlib

from msgspec.structs import replace

from grader.language import foreign
from grader.report import (
    Cell,
    CellOutput,
    CellProblem,
    Diagnosis,
    Graph,
    Node,
    Report,
    Sample,
    Scripts,
    Step,
)
from tests import sample_reports


def png(width: int = 28, height: int = 28) -> str:
    """Return a PNG of a grey square on black, in base64."""
    rows = (
        bytes(160 if 6 <= x < 22 and 4 <= y < 24 else 0 for x in range(width))
        for y in range(height)
    )
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (("IHDR", header), ("IDAT", pixels), ("IEND", b""))
    chunks = (_chunk(kind.encode(), content) for kind, content in parts)
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(chunks)).decode()


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)


CLASSES = (
    "top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "boot",
)

SAMPLE = Sample(
    place=1234,
    image=png(),
    classes=CLASSES,
    label=3,
    predicted=1,
    pytorch=3,
    scores=(0.01, 0.5, 0.02, 0.2, None, 0.0, 0.07, 0.0, 0.2, 0.0),
    pytorch_scores=(0.01, 0.12, 0.02, 0.75, 0.03, 0.0, 0.07, 0.0, 0.0, 0.0),
)

DIAGNOSIS = Diagnosis(
    steps=(
        Step("lv", "conv2d", (4, 32, 26, 26), "unknown"),
        Step("lv1", "add", (4, 32, 26, 26), "right", foreign("conv2d")),
        Step("lv2", "pool2d", (4, 32, 25, 25), "wrong"),
        Step("lv3", "flatten", (4, 20000), "follows"),
    ),
    wrong=2,
    layer=foreign("max_pool2d"),
    wanted=(4, 32, 13, 13),
    mistake="pooling_stride",
    message=foreign(
        "After `lv2 = pool2d` the shape is (4, 32, 25, 25), PyTorch has (4, 32, 13, 13)."
    ),
    advice=foreign("Give the pooling a stride of 2."),
    link=foreign("https://example.org/pooling"),
)

GRAPH = Graph(
    nodes=(
        Node("input", "x", shape=(4, 1, 28, 28), dtype="float32"),
        Node("constant", "", shape=(32, 1, 3, 3), dtype="float32"),
        Node("tir", "lv", "conv2d", (4, 32, 26, 26), "float32", dataflow=True),
        Node("extern", "lv1", "env.add", (4, 32, 26, 26), "float32", dataflow=True),
        Node("tir", "lv2", "pool2d", (4, 32, 25, 25), "float32"),
        Node("operator", "lv3", "relax.flatten", (4, "n"), "float32", dataflow=True),
    ),
    edges=((0, 2), (1, 2), (2, 3), (2, 4), (3, 4), (4, 5)),
    output=5,
)

SCRIPTS = Scripts(
    function="conv2d",
    before="\n".join(
        ["def conv2d(x):", *(f"    line_{n}()" for n in range(12)), "    for i: pass"]
    ),
    after="\n".join(
        ["def conv2d(x):", *(f"    line_{n}()" for n in range(12)), "    for i_0: pass"]
    ),
)

CELLS = (
    Cell(
        "markdown", "# A *title*\n\n### Too deep\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n> quoted"
    ),
    Cell("code", "import tvm\nprint(tvm)\n", 1, None, (CellOutput("stdout", "tvm\n"),)),
    Cell(
        "code",
        "import numpy as np\n\nconv_w.shape  # gone",
        2,
        None,
        (CellOutput("error", "NameError"),),
    ),
    Cell(
        "code",
        "plot()",
        3,
        None,
        (CellOutput("image", png(64, 48)), CellOutput("result", "<Axes>")),
    ),
    Cell("code", "log()", 4, None, (CellOutput("stderr", "\n".join(map(str, range(60)))),)),
    Cell("markdown", "## From the handout", given=True),
    Cell("code", "import numpy", 5, None, (CellOutput("stdout", "given"),), given=True),
    Cell(
        "code",
        "mod.show()",
        6,
        None,
        (CellOutput("listing", "@T.prim_func\ndef f(a: T.handle):\n    a[0] = 1 < 2"),),
    ),
    Cell("code", ""),
)


def everything() -> Report:
    """Return a report that has something of everything."""
    report = sample_reports.typical()
    first, second, third = report.parts
    first = replace(
        first,
        graph=GRAPH,
        diagnosis=DIAGNOSIS,
        sample=SAMPLE,
        origin=replace(first.origin, cell=2),
    )
    third = replace(third, scripts=SCRIPTS, graph=sample_reports.GRAPH)
    return replace(
        report,
        parts=(first, second, third),
        cells=CELLS,
        problems=(
            CellProblem(2, "NameError", "name 'conv_w' is not defined", 3),
            CellProblem(4, "CellTimeoutError", "It ran for too long.", None, foreign("Do less.")),
        ),
        notes=(foreign("Code cell 1 uses `eval`."),),
    )
