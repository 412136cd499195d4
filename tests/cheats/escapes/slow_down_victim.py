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
