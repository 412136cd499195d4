# /// cheat
# about = "Children fill their parents' pipes and end: they hold no more than is counted for them."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import fcntl
import os
import time

LARGEST = 2**20
reader, writer = os.pipe()


def fill(ends):
    for end in ends:
        os.set_blocking(end, False)
        try:
            fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, LARGEST)
        except OSError:
            pass
        try:
            while True:
                os.write(end, bytes(2**16))
        except BlockingIOError:
            pass
    os._exit(0)


for _ in range(16):
    if os.fork() == 0:
        ends = []
        try:
            while True:
                ends.append(os.pipe()[1])
        except OSError:
            pass
        if os.fork() == 0:
            fill(ends)
        os.wait()
        os.write(writer, b"1")
        time.sleep(60)
        os._exit(0)
for _ in range(16):
    os.read(reader, 1)
time.sleep(3)  # eight thousand: after 64 MB the kernel gives each one two pages, which are counted
