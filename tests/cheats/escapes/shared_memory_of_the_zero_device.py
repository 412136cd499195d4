# /// cheat
# about = "Memory that no limit counts is had of /dev/zero, which can be mapped to be shared."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import mmap

SIZE = 2**20
try:
    with open("/dev/zero", "r+b", buffering=0) as zeros:
        memory = mmap.mmap(zeros.fileno(), SIZE)
except OSError:
    memory = b""
if memory:
    memory[:] = b"1" * SIZE
    memory.madvise(mmap.MADV_DONTNEED)
    raise Escaped(memory[:24].decode())
