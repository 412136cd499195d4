# %%
import os

child = os.fork()
if child == 0:
    status = 0
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        status = 1
    finally:
        os._exit(status)
if os.waitpid(child, 0)[1]:
    raise Escaped("realtime priority")
