# /// cheat
# about = "Memory is shared that no file stands for: out of every table, no limit counts it."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# What is taken out of a process's tables again is still there, and in no number of any process.
# %%
import mmap

SIZE = 2**20
try:
    memory = mmap.mmap(-1, SIZE)  # MAP_SHARED | MAP_ANONYMOUS
except PermissionError:
    memory = b""
if memory:
    memory[:] = b"1" * SIZE
    memory.madvise(mmap.MADV_DONTNEED)
    raise Escaped(memory[:24].decode())
