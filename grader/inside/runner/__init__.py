"""Code that runs inside a runner sandbox: it builds, runs and times modules, and states no result.

A runner sees inputs and never an expected output; what it answers is bytes that the referee judges.
Python externs are loaded and called in another sandbox, by an evaluator, which the runner asks.

    entry       the runner's process: prepares itself, reads tasks, writes answers
    model       RunModule: build a module and run `main` on every batch
    evaluation  external functions: those that the evaluator calls, and stubs of the runner's own
    timing      TimeSchedule: interleaved rounds of baseline, submission and reference
    kinds       Examine: what the folders of `grader/evidence/` have done in boxes
    find_step   FindStep: find the step of a schedule that changes what is computed
    replay      ReplayTrace: apply the trace of a schedule to the module it started from
    trace       TraceModule: run a module step by step
    kernels     one compiled function, callable many times in a row without Python
    arena       the arrays that timed functions work on
"""
