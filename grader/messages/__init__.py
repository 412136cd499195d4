"""Messages that cross a process boundary: the one package that both sides of a sandbox share.

Which process writes what:

    referee ──KernelConfig──────────▶ student kernel ──Capture | CaptureFailure──▶ referee
    referee ──RunModule | TraceModule | TimeSchedule | ReplayTrace | CompareTarget──▶ runner
    runner ──RunResult | TraceResult | TimingResult | ReplayResult | TargetResult──▶ referee
    runner ──TaskFailure──▶ referee
    runner ──LoadExtern | Evaluate──▶ evaluator
    evaluator ──ExternLoaded | Evaluated | EvaluationFailed──▶ runner
    referee ──TimeLibrary──▶ library process ──LibraryTiming | TaskFailure──▶ referee

It is loaded in every sandbox: it imports nothing else of the grader.
"""

from grader.messages.arrays import (
    Array,
    Count,
    Counts,
    Names,
    Pickles,
    Seconds,
    Shape,
    pack_array,
    unpack_array,
)
from grader.messages.evaluator import (
    Argument,
    DType,
    Evaluate,
    Evaluated,
    EvaluationFailed,
    Extents,
    ExternLoaded,
    FromEvaluator,
    Kept,
    LoadExtern,
    Output,
    Tensor,
    ToEvaluator,
)
from grader.messages.frames import (
    KERNEL_FRAME_LIMIT,
    READY,
    RUNNER_FRAME_LIMIT,
    FrameError,
    Message,
    Stream,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.messages.kernel import (
    PYTHON_FUNCTION,
    SOURCE_LIMIT,
    Capture,
    CaptureFailure,
    EntrySpec,
    FromKernel,
    KernelConfig,
    ModelSpec,
)
from grader.messages.library import FromLibrary, LibraryTiming, TimeLibrary
from grader.messages.mutants import (
    MutatedModule,
    MutateModule,
    Mutation,
    MutationKind,
    MutationResult,
    Unmutated,
)
from grader.messages.replay import SCRIPT_LIMIT, Documents, ReplayResult, ReplayTrace
from grader.messages.runner import (
    EXTERN_DIED,
    OUT_OF_BOUNDS,
    RunArgument,
    RunModule,
    RunResult,
    TaskFailure,
    TensorSpec,
    Violation,
    ViolationKind,
)
from grader.messages.target import CompareTarget, TargetResult
from grader.messages.tasks import FromRunner, ToRunner
from grader.messages.timing import (
    ARRAY_LIMIT,
    ROUND_LIMIT,
    SHAPE_LIMIT,
    Block,
    BlockGroup,
    ControlRound,
    MachineLimits,
    Moment,
    ShapeResult,
    TimedFunction,
    TimeSchedule,
    TimingResult,
    TimingRound,
    TimingRules,
)
from grader.messages.trace import STEP_LIMIT, TracedStep, TraceModule, TraceResult

__all__ = [
    "ARRAY_LIMIT",
    "EXTERN_DIED",
    "KERNEL_FRAME_LIMIT",
    "OUT_OF_BOUNDS",
    "PYTHON_FUNCTION",
    "READY",
    "ROUND_LIMIT",
    "RUNNER_FRAME_LIMIT",
    "SCRIPT_LIMIT",
    "SHAPE_LIMIT",
    "SOURCE_LIMIT",
    "STEP_LIMIT",
    "Argument",
    "Array",
    "Block",
    "BlockGroup",
    "Capture",
    "CaptureFailure",
    "CompareTarget",
    "ControlRound",
    "Count",
    "Counts",
    "DType",
    "Documents",
    "EntrySpec",
    "Evaluate",
    "Evaluated",
    "EvaluationFailed",
    "Extents",
    "ExternLoaded",
    "FrameError",
    "FromEvaluator",
    "FromKernel",
    "FromLibrary",
    "FromRunner",
    "Kept",
    "KernelConfig",
    "LibraryTiming",
    "LoadExtern",
    "MachineLimits",
    "Message",
    "ModelSpec",
    "Moment",
    "MutateModule",
    "MutatedModule",
    "Mutation",
    "MutationKind",
    "MutationResult",
    "Names",
    "Output",
    "Pickles",
    "ReplayResult",
    "ReplayTrace",
    "RunArgument",
    "RunModule",
    "RunResult",
    "Seconds",
    "Shape",
    "ShapeResult",
    "Stream",
    "TargetResult",
    "TaskFailure",
    "Tensor",
    "TensorSpec",
    "TimeLibrary",
    "TimeSchedule",
    "TimedFunction",
    "TimingResult",
    "TimingRound",
    "TimingRules",
    "ToEvaluator",
    "ToRunner",
    "TraceModule",
    "TraceResult",
    "TracedStep",
    "Unmutated",
    "Violation",
    "ViolationKind",
    "decode_payload",
    "encode_frame",
    "pack_array",
    "read_frame",
    "unpack_array",
]
