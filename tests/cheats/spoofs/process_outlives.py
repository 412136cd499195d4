# /// cheat
# about = "Processes that have left the session go on when the notebook has ended."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import subprocess
import sys

CODE = "import os, time; os.fork() or os.setsid(); os.fork(); time.sleep(300)"
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", CODE, "{linger}"], start_new_session=True)
