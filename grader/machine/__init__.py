"""The machine that a schedule is timed on: what it is and does, and whose turn it is.

    cpus      how busy each CPU is, which share a core, what control groups leave of them to us
    limits    what the shell allows the grader, and whether that is enough
    state     everything that decides whether a time means something, as one value
    trust     what these facts say about timing here, and the remedies
    quiet     one timed section at a time on a machine, across processes and users
    packages  which command installs what is missing here

It stands on the ground: it imports nothing of `grader` but its errors, and runs in the referee's
process alone. Nothing here needs root, and a file that is not there means "unknown".
"""
