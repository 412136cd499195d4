# %%
import subprocess
import sys

CODE = "import os, time; os.fork() or os.setsid(); os.fork(); time.sleep(300)"
for _ in range(3):
    subprocess.Popen([sys.executable, "-c", CODE, "{linger}"], start_new_session=True)
