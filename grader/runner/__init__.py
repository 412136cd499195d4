"""Code that runs inside a runner sandbox: it builds, runs and times modules, and states no result.

A runner is shipped with `grader.messages` and nothing else of the grader. It sees inputs and never
an expected output; what it answers is bytes that the referee judges.

    entry      the process: prepares itself, reads tasks, writes answers
    tasks      which task is done by what
    failure    an error of a task, as the message that the referee gets
    machine    threads, processors and targets
    model      RunModule: build a module and run `main` on every batch
    poison     the instrument that fills output buffers before each call
    externs    external functions: pickled ones, and stubs of the runner's own
    timing     TimeSchedule: interleaved rounds of baseline, submission and reference
    kernels    one compiled function, callable many times in a row without Python
    arena      the arrays that timed functions work on
"""
