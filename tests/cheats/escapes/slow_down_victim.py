# /// cheat
# about = "The priority and the processors of a process of the grader's user may be changed."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "container"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os

VICTIM = {victim_pid}
try:
    os.setpriority(os.PRIO_PROCESS, VICTIM, os.getpriority(os.PRIO_PROCESS, VICTIM))
except OSError:
    pass
else:
    raise Escaped("setpriority")
try:
    os.sched_setaffinity(VICTIM, os.sched_getaffinity(VICTIM))
except OSError:
    pass
else:
    raise Escaped("sched_setaffinity")
