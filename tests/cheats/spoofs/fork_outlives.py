# %%
import os
import sys
import time

if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", "{linger}"])
    time.sleep(300)
