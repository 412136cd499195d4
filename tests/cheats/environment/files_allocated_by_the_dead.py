# /// cheat
# about = "A child allocates files by the kernel's own call and ends; nobody who lives has written."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import time

SIZE = 16 * 2**20
child = os.fork()
if child == 0:
    try:
        for number in range(200):
            end = os.open(f"allocated-{number}", os.O_RDWR | os.O_CREAT)
            os.posix_fallocate(end, 0, SIZE)
            os.close(end)
    except OSError:
        pass
    os._exit(0)
time.sleep(4)
sizes = [os.stat(name).st_blocks * 512 for name in os.listdir() if name.startswith("allocated-")]
if sum(sizes) > 2**30:
    raise Escaped(f"{sum(sizes)} bytes in files")
