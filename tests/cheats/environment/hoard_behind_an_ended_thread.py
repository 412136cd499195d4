# /// cheat
# about = """The first thread of each process has ended, and another holds its memory without \
#     running."""
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import _thread
import ctypes
import os
import time

library = ctypes.CDLL(None)
reader, writer = os.pipe()
held = []


def hold():
    try:
        held.append(b"1" * (700 * 2**20))
    except MemoryError:
        pass
    os.write(writer, b"1")
    time.sleep(60)
    os._exit(0)


for _ in range(4):
    if os.fork() == 0:
        _thread.start_new_thread(hold, ())
        library.pthread_exit(None)
for _ in range(4):
    os.read(reader, 1)
time.sleep(5)
raise Escaped("2.8 GB were held, and nobody minded")
