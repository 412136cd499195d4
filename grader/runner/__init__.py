"""Code that runs inside a runner sandbox: it builds, runs and times modules, and states no result.

Of the rest of the grader, only `grader.messages` and `grader.launch` are there beside it. A runner
sees inputs and never an expected output; what it answers is bytes that the referee judges. Python
externs are loaded and called in another sandbox, by an evaluator, which the runner asks.

    entry       the runner's process: prepares itself, reads tasks, writes answers
    tasks       which task is done by what
    failure     an error of a task, as the message that the referee gets
    machine     threads, processors and targets
    model       RunModule: build a module and run `main` on every batch
    poison      the instrument that fills output buffers before each call
    externs     external functions: those that the evaluator calls, and stubs of the runner's own
    evaluation  the runner's end of its evaluator
    parcel      a message and the bytes of its arrays, between those two
    evaluator   the evaluator's process: loads a student's functions and calls them
    functions   those functions, and the tensors that they are called on
    timing      TimeSchedule: interleaved rounds of baseline, submission and reference
    find_step   FindStep: find the step of a schedule that changes what is computed
    replay      ReplayTrace: apply the trace of a schedule to the module it started from
    kernels     one compiled function, callable many times in a row without Python
    library     the process that times PyTorch's own function
    arena       the arrays that timed functions work on
"""
