# /// cheat
# about = """The first thread has ended, and each other lives for a moment: whoever is asked for \
#     is gone."""
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# What a process holds is told by a thread that lives. One that has ended since it was chosen tells
# nothing, and a process of such threads would hold nothing.
# %%
import _thread
import ctypes
import os
import time

library = ctypes.CDLL(None)
reader, writer = os.pipe()
_thread.stack_size(2**16)
held = []
begin = time.monotonic()


def hop():
    if len(held) < 4 * 1200:
        held.append(bytearray(b"1") * 2**18)
        if len(held) == 4 * 1200:
            os.write(writer, b"1")
    if time.monotonic() > begin + 30:
        os._exit(0)
    _thread.start_new_thread(hop, ())


for _ in range(2):
    if os.fork() == 0:
        _thread.start_new_thread(hop, ())
        library.pthread_exit(None)
for _ in range(2):
    os.read(reader, 1)
time.sleep(6)
raise Escaped("2.4 GB were held, and nobody minded")
