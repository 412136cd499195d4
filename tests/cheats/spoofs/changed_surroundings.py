# /// cheat
# about = """Environment, working folder, import path and signals are changed before the model is \
#     built."""
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
import os
import signal
import sys

os.environ.clear()
os.environ.update(LD_PRELOAD="/nowhere.so", PYTHONPATH="/scratch", TVM_NUM_THREADS="0")
sys.path.insert(0, "/scratch")
sys.setrecursionlimit(10**6)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
with open("grader.py", "w") as file:
    file.write("raise SystemExit(0)")
