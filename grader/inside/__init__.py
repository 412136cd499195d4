"""Everything that runs in a sandboxed process, and in what starts one; nothing else of the grader.

    launcher    the process that all others are forked from, and the warden of each
    kernel      the student's notebook
    runner      builds, runs and times modules; never loads Python of a submission
    evaluator   loads a student's Python functions and calls them
    mutants     makes mutants of a course's own modules, as a runner does its tasks
    library     times PyTorch's own function
    common      what two of these need alike

No folder but `common` and `launcher` is loaded by two of them: the launcher of runners has nothing
that unpickles. `mutants` has all that is the runner's.
"""
