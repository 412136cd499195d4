# /// cheat
# about = "Processes give their memory back as soon as somebody looks at them, and take it again."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# A watch of their own files in /proc tells when.
# %%
import ctypes
import mmap
import os
import time

OPENED = 0x20
SIZE = 700 * 2**20
library = ctypes.CDLL(None, use_errno=True)
reader, writer = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        queue = library.inotify_init1(0)
        library.inotify_add_watch(queue, b"/proc/self/stat", OPENED)
        try:
            memory = mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError:
            os._exit(1)
        for number in range(100):
            for place in range(0, SIZE, 2**20):
                memory[place : place + 2**20] = b"1" * 2**20
            os.write(writer, b"1")
            os.read(queue, 2**12)
            memory.madvise(mmap.MADV_DONTNEED)
        os._exit(0)
for _ in range(40):
    os.read(reader, 1)
raise Escaped("2.8 GB were held ten times")
