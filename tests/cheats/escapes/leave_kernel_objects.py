# /// cheat
# about = "A submission leaves System V shared memory, and an abstract socket that a process holds."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import ctypes
import os
import socket

libc = ctypes.CDLL(None)
KEY = int("{marker}"[-7:], 16)
segment = libc.shmget(KEY, 4096, 0o1644)  # created, and readable by all
print(segment)
try:
    holder = socket.socket(socket.AF_UNIX)
    holder.bind("\0trace-{marker}")
    holder.listen()
    holder.set_inheritable(True)
    if os.fork() == 0:  # keeps the name when the notebook has ended
        os.setsid()
        os.execvp("sleep", ["sleep", "600"])
except OSError:
    pass
