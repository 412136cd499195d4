# /// cheat
# about = "A closed process, a name like a size, a folder without a way in: whoever counts goes on."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import ctypes
import os
import time

SET_DUMPABLE, SET_NAME = 4, 15
libc = ctypes.CDLL(None)
assert libc.prctl(SET_DUMPABLE, 0, 0, 0, 0) == 0
assert libc.prctl(SET_NAME, b"a kB", 0, 0, 0) == 0
os.mkdir("names")
with open("names/one", "w") as file:
    file.write("x")
os.chmod("names", 0o444)
time.sleep(1)
