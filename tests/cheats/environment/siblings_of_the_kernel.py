# /// cheat
# about = "The kernel has children that are its siblings, and have its name."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
# By CLONE_PARENT a child is one of the warden's, beside the kernel and not below it: who counts or
# ends what is below the kernel passes over it. It leaves the session, and takes the kernel's name.
import ctypes
import os
import platform
import signal
import time

CLONE_PARENT, SET_NAME, DEATH_SIGNAL = 0x8000, 15, 1
CALLS = {"x86_64": (56, 39), "aarch64": (220, 172)}
clone, getpid = CALLS[platform.machine()]
library = ctypes.CDLL(None, use_errno=True)
own = os.getpid()
parent = os.getppid()
for _ in range(3):
    child = library.syscall(clone, CLONE_PARENT, None, None, None, None)
    if child == 0:
        library.prctl(DEATH_SIGNAL, 0, 0, 0, 0)
        library.prctl(SET_NAME, b"grader-kernel", 0, 0, 0)
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        os.execvp("sleep", ["grader-kernel-{linger}", "600"])
    assert child > 0 or ctypes.get_errno()
time.sleep(0.5)
