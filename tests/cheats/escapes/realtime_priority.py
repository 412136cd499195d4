# /// cheat
# about = "A process gets priority over all others, the grader's clock included."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import contextlib
import glob
import os

child = os.fork()
if child == 0:
    status = 0
    # In a control group of its own it may have no time of this kind: it leaves the group first.
    root = "/sys/fs/cgroup/"
    for group in [*glob.glob(root + "*/cgroup.procs"), root + "cgroup.procs"]:
        with contextlib.suppress(OSError), open(group, "w") as file:
            file.write(str(os.getpid()))
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        status = 1
    finally:
        os._exit(status)
if os.waitpid(child, 0)[1]:
    raise Escaped("realtime priority")
