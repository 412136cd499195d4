"""The machine that a schedule is timed on: what it is and does, and whose turn it is.

    files    where the kernel shows what it knows; the paths are passed in
    cpus     how busy each CPU is, which ones share a core, and which ones to measure on
    hierarchies  where control groups are mounted, and where in them this process is
    quota    how many CPUs the control groups leave to this process
    facts    everything that decides whether a time means something, as one value
    trust    what these facts say about timing here, and the remedies
    lock     one timed section at a time on a machine, across processes and users
    packages  which command installs what is missing here

It stands on the ground: it imports nothing of `grader` but its errors, and runs in the referee's
process alone. Nothing here needs root, and a file that is not there means "unknown".
"""
