# /// cheat
# about = "Siblings of the kernel take together far more memory than the notebook may."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
# What a child made by CLONE_PARENT takes is not below the kernel, and counts for the submission.
import ctypes
import os
import platform
import time

CLONE_PARENT = 0x8000
CALLS = {"x86_64": 56, "aarch64": 220}
library = ctypes.CDLL(None, use_errno=True)
reader, writer = os.pipe()
for _ in range(4):
    if library.syscall(CALLS[platform.machine()], CLONE_PARENT, None, None, None, None) == 0:
        held = []
        try:
            held.append(b"1" * 2**30)
        except MemoryError:
            pass
        os.write(writer, b"1")
        time.sleep(60)
        os._exit(0)
for _ in range(4):
    os.read(reader, 1)
time.sleep(5)
raise Escaped("4 GB were held, and nobody minded")
