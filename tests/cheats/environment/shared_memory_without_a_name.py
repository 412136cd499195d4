# Only a control group counts it (docs/security.md). This takes less than is allowed, and says that
# it is known.
# %%
import mmap
import time

SIZE = 200 * 2**20
memory = mmap.mmap(-1, SIZE)
for place in range(0, SIZE, 2**20):
    memory[place : place + 2**20] = b"1" * 2**20
memory.madvise(mmap.MADV_DONTNEED)
time.sleep(1)
assert memory[SIZE // 2] == ord("1")
