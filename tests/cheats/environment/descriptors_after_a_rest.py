# /// cheat
# about = """Processes that have rested for seconds have all the descriptors that each may, and \
#     rest again."""
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

reader, writer = os.pipe()
for _ in range(80):
    if os.fork() == 0:
        time.sleep(2)
        kept = []
        try:
            while True:
                kept.append(os.dup(0))
        except OSError:
            pass
        os.write(writer, b"1")
        time.sleep(60)
        os._exit(0)
for _ in range(80):
    os.read(reader, 1)
time.sleep(5)
raise Escaped("80 processes have a thousand descriptors each")
