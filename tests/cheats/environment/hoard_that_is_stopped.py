# /// cheat
# about = """Processes rest, take memory one after the other, and stop themselves: nobody runs any \
#     more."""
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import signal
import time

reader, writer = os.pipe()
for number in range(4):
    if os.fork() == 0:
        time.sleep(1.5 + number / 10)
        held = []
        try:
            held.append(b"1" * (700 * 2**20))
        except MemoryError:
            pass
        os.write(writer, b"1")
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
for _ in range(4):
    os.read(reader, 1)
time.sleep(5)
raise Escaped("2.8 GB were held, and nobody minded")
