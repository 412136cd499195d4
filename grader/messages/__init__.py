"""Messages that cross a process boundary: the one package that both sides of a sandbox share.

Which process writes what:

    referee ──KernelConfig──▶ student kernel ──Capture | CaptureFailure | KernelNote──▶ referee
    referee ──RunModule | TraceModule | TimeSchedule | ReplayTrace──▶ runner
    runner ──RunResult | TraceResult | TimingResult | ReplayResult──▶ referee
    referee ──MeasureLimits──▶ runner ──MachineLimits──▶ referee
    referee ──TimeSteps──▶ runner ──StepTimes──▶ referee
    referee ──BuildAhead──▶ runner ──Built──▶ referee
    referee ──Examine──▶ runner ──Examined──▶ referee
    runner ──TaskFailure──▶ referee
    runner ──LoadExtern | Evaluate──▶ evaluator
    evaluator ──ExternLoaded | Evaluated | EvaluationFailed──▶ runner
    referee ──TimeLibrary──▶ library process ──LibraryTiming | TaskFailure──▶ referee

It is loaded in every sandbox: it imports nothing else of the grader.
"""
