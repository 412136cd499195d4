"""Reports that tests show, store and check: typical ones, and one that means harm."""

from __future__ import annotations

from datetime import datetime, timezone

import msgspec

from grader.language import foreign
from grader.report import (
    AssignmentId,
    Bar,
    Bars,
    CellProblem,
    Check,
    Data,
    Duration,
    Environment,
    Graph,
    Grid,
    Listing,
    Node,
    Origin,
    Paragraph,
    Part,
    Report,
    SandboxFacts,
    Section,
    SelfTest,
    ShapeTiming,
    StepLine,
    StepSpeed,
    StepSpeeds,
    Submission,
    Timing,
)

HOSTILE = (
    "\x1b[2J\x1b]0;pwned\x07[bold red]not markup[/] :smile: "
    "\u202eesrever\x00\x9b31m \ud800 [link=x]"
)

SHAPE = ShapeTiming(
    batch=4,
    baseline_us=1283.4,
    submission_us=412.25,
    reference_us=198.7,
    speedup=3.113,
    reference_speedup=6.459,
    ratios=(3.11, 3.12, 3.1),
    flops=1557504,
    bytes=359808,
    floor_us=104.2,
    library_us=640.0,
)

TIMING = Timing(
    function="conv2d",
    workload="conv2d_bias",
    target="llvm -mcpu=skylake-avx512",
    threads=2,
    cpus=(2, 3),
    shapes=(SHAPE,),
    speedup=3.113,
    ci_low=3.041,
    ci_high=3.187,
    reference_speedup=6.459,
    share=0.6088,
    share_low=0.5962,
    share_high=0.6213,
    pairs=28,
    self_test=SelfTest(1.0004, 0.9987, 1.0019, 20),
    peak_gflops=14.9,
    bandwidth_gbs=22.1,
)


SECTION = Section(
    foreign("Memory at the peak"),
    (
        Paragraph(foreign("`main` holds two buffers at once.")),
        Bars(
            (
                Bar(foreign("yours"), 3000.0, foreign("3,000 bytes"), "failed"),
                Bar(foreign("reference"), 1000.0, foreign("1,000 bytes")),
            ),
            2000.0,
            foreign("At most 2,000 bytes"),
        ),
        Grid(
            (foreign("Buffer"), foreign("Bytes")),
            ((foreign("`pad`"), foreign("1,800")), (foreign("`conv`"), foreign("1,200"))),
        ),
        Listing("pad = T.alloc_buffer((1, 450))\nconv = T.alloc_buffer((1, 300))"),
    ),
    {"bytes": 3000},
    "peak",
    ("equivalence",),
)

STEPS = StepSpeeds(
    (
        StepSpeed(("split", "reorder"), (StepLine(7, 3, "a, b = sch.split(i)"),), "equal", 1.0),
        StepSpeed(
            ("vectorize", "vectorize"),
            (StepLine(7, 5, "sch.vectorize(x)"), StepLine(7, 6, "sch.vectorize(y)")),
            "faster",
            1.30,
            1.28,
            1.33,
        ),
        StepSpeed(("parallel",), (StepLine(7, 8, "sch.parallel(n)"),), "slower", 0.87, 0.85, 0.9),
        StepSpeed(("compute_at",), (), "wrong"),
        StepSpeed(("cache_write",), (), "failed"),
        StepSpeed(("decompose_reduction",), (), "faster", 1.031, 1.01, 1.05),
    ),
    1.166,
    1.16,
    1.18,
    idle=("storage_align",),
)
"""Steps of every kind."""


GRAPH = Graph(
    nodes=(
        Node("input", "x", shape=(1, 784), dtype="float32"),
        Node("input", "w0", shape=(128, 784), dtype="float32"),
        Node("tir", "lv0", "linear0", (1, 128), "float32", dataflow=True),
        Node("extern", "lv1", "env.relu", (1, 128), "float32", dataflow=True),
        Node("constant", "", shape=(10, 128), dtype="float32"),
        Node("extern", "out", "env.linear", (1, 10), "float32", dataflow=True),
    ),
    edges=((0, 2), (1, 2), (2, 3), (3, 5), (4, 5)),
    output=5,
)


def typical() -> Report:
    """Most points earned, some lost in every way, two cells failed."""
    emit = Part(
        id="emit_te",
        title=foreign("The model, built with emit_te"),
        score=40.0,
        max_score=40.0,
        origin=Origin(name="create_model_via_emit_te", cell=5),
        checks=(
            Check(
                "structure",
                foreign("Built of call_tir"),
                10.0,
                10.0,
                "passed",
                foreign("Seven calls, no externs."),
            ),
            Check(
                "equivalence",
                foreign("Same outputs as PyTorch"),
                30.0,
                30.0,
                "passed",
                foreign("All agree."),
            ),
        ),
    )
    extern = Part(
        id="torch_extern",
        title=foreign("The convolution, done by an external function"),
        score=15.0,
        max_score=30.0,
        origin=Origin(name="create_model_with_torch_func", cell=9),
        checks=(
            Check(
                "extern_call",
                foreign("Calls an external function"),
                10.0,
                10.0,
                "passed",
                foreign("env.conv2d"),
            ),
            Check(
                "writes_output",
                foreign("Writes its output"),
                5.0,
                5.0,
                "passed",
                foreign("Written."),
            ),
            Check(
                "equivalence",
                foreign("Same outputs as PyTorch"),
                0.0,
                15.0,
                "failed",
                foreign(
                    "On 4,443 of 4,443 test images the output differs from PyTorch. The first "
                    "layer that differs is the convolution: the largest difference is 0.83."
                ),
                foreign(
                    "Add the bias to the result of the convolution, or hand it to torch.conv2d."
                ),
            ),
        ),
    )
    schedule = Part(
        id="schedule",
        title=foreign("The convolution, scheduled"),
        score=22.5,
        max_score=30.0,
        origin=Origin(name="sch", cell=14),
        checks=(
            Check(
                "pure_tir", foreign("No external functions"), 0.0, 0.0, "passed", foreign("None.")
            ),
            Check(
                "equivalence", foreign("Same mathematics"), 0.0, 0.0, "passed", foreign("The same.")
            ),
            Check(
                "steps",
                foreign("Steps of the schedule"),
                15.0,
                15.0,
                "passed",
                foreign("All four."),
            ),
            Check(
                "speed",
                foreign("Speed of the convolution"),
                7.5,
                15.0,
                "partial",
                foreign(
                    "Your schedule makes the convolution 3.11 times as fast; all points need 4.9."
                ),
                foreign(
                    "Vectorize the innermost loop over the output's columns, and try larger tiles."
                ),
            ),
        ),
    )
    return Report(
        score=77.5,
        max_score=100.0,
        assignment=AssignmentId("e2e-conv", foreign("A convolutional classifier, end to end"), 1),
        submission=Submission("homework.ipynb", "ab" * 32, cells=17, executed=15),
        parts=(emit, extern, schedule),
        problems=(
            CellProblem(7, "NameError", "name 'conv_w' is not defined", 3),
            CellProblem(16, "CellTimeoutError", "The cell ran for more than 120 seconds."),
        ),
        notes=(),
        timing=TIMING,
        data=Data("Fashion-MNIST", 4443, 256, foreign("Parameters of the course.")),
        sandbox=SandboxFacts(
            "basic", foreign("bubblewrap: no network, a read-only system, an empty home.")
        ),
        environment=Environment(
            python="3.11.7",
            cpu="Intel(R) Xeon(R) Processor @ 2.60GHz",
            cores=4,
            packages={
                "apache-tvm": "0.27.0.post1",
                "torch": "2.13.0+cpu",
                "numpy": "2.4.1",
                "tvm-grader": "0.1.0",
            },
        ),
        seed=42,
        duration=Duration(18.42, {"data": 0.31, "notebook": 9.1, "parts": 8.9}),
        graded=datetime(2026, 3, 9, 17, 5, tzinfo=timezone.utc),
    )


def full_marks() -> Report:
    """Every point earned, every cell ran."""
    report = typical()
    parts = tuple(
        msgspec.structs.replace(
            part,
            score=part.max_score,
            checks=tuple(
                msgspec.structs.replace(
                    check,
                    score=check.max_score,
                    verdict="passed",
                    reason=foreign("Right."),
                    hint=foreign(""),
                )
                for check in part.checks
            ),
        )
        for part in report.parts
    )
    return msgspec.structs.replace(
        report,
        score=100.0,
        parts=parts,
        problems=(),
        submission=Submission("reference.ipynb", "cd" * 32, cells=17, executed=17),
    )


def nothing_to_grade() -> Report:
    """The untouched template: no part has anything to grade, nothing was timed."""
    report = typical()
    reason = "The notebook defines no {}."
    parts = tuple(
        msgspec.structs.replace(
            part,
            score=0.0,
            origin=None,
            checks=tuple(
                msgspec.structs.replace(
                    check,
                    score=0.0,
                    verdict="not_graded",
                    reason=foreign(reason.format(part.origin.name if part.origin else "")),
                    hint=foreign("Write the function in the cell that the notebook marks for it."),
                )
                for check in part.checks
            ),
        )
        for part in report.parts
    )
    return msgspec.structs.replace(
        report,
        score=0.0,
        parts=parts,
        problems=(CellProblem(3, "NotImplementedError", "", 2),),
        timing=None,
        notes=(
            foreign("The notebook says no assignment; it was found by the names that it defines."),
        ),
        submission=Submission("template.ipynb", "00" * 32, cells=1, executed=0),
    )


def korean_and_chinese() -> Report:
    """Wide characters in every title and reason."""
    report = typical()
    first = report.parts[1]
    check = msgspec.structs.replace(
        first.checks[2],
        title=foreign("파이토치와 같은 출력"),
        reason=foreign(
            "4,443개의 시험 영상에서 출력이 파이토치와 다릅니다. "
            "처음으로 다른 레이어는 합성곱 레이어입니다. 가장 큰 차이는 0.83입니다."
        ),
        hint=foreign(
            "把偏置加到卷积的结果上, 或者把它传给 torch.conv2d。然后重新运行笔记本, 再提交一次。"
        ),
    )
    part = msgspec.structs.replace(
        first,
        title=foreign("用外部函数完成卷积 — 외부 함수로 계산한 합성곱"),
        checks=(*first.checks[:2], check),
    )
    assignment = AssignmentId(
        "e2e-conv", foreign("합성곱 분류기, 처음부터 끝까지 / 端到端的卷积分类器"), 1
    )
    return msgspec.structs.replace(report, assignment=assignment, parts=(part, *report.parts[::2]))


HOSTILE_STEPS = StepSpeeds(
    (
        StepSpeed((HOSTILE,), (StepLine(1, 1, HOSTILE),), "faster", 2.0, 1.9, 2.1),
        StepSpeed((HOSTILE,), (StepLine(1, 1, HOSTILE),), "slower", 0.5, 0.4, 0.6),
        StepSpeed((HOSTILE,), (), "wrong"),
    ),
    idle=(HOSTILE,),
)


def hostile() -> Report:
    """Every text that a student can influence tries to break the page."""
    report, harm = typical(), foreign(HOSTILE)
    part = report.parts[1]
    check = msgspec.structs.replace(
        part.checks[2], title=harm, reason=foreign(HOSTILE), hint=foreign(HOSTILE)
    )
    box = Node("tir", HOSTILE, HOSTILE, (HOSTILE, 4), HOSTILE)
    return msgspec.structs.replace(
        report,
        submission=msgspec.structs.replace(report.submission, name=HOSTILE),
        parts=(
            msgspec.structs.replace(
                part,
                title=harm,
                checks=(check,),
                origin=Origin(HOSTILE, 1),
                graph=Graph(nodes=(box, box), edges=((0, 1),), output=1),
            ),
        ),
        problems=(CellProblem(1, HOSTILE, HOSTILE * 400, 1),),
        notes=(harm,),
        timing=msgspec.structs.replace(
            TIMING, function=HOSTILE, target=HOSTILE, steps=HOSTILE_STEPS
        ),
    )
