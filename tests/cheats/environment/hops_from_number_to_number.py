# /// cheat
# about = "A process leaves a child and ends, all the time: who asks for its parent finds nobody."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# Below "container" processes are told by their parents: one that has ended meanwhile is in no list,
# nor is its child. What it starts in passing would be, if somebody listed again.
# %%
import ctypes
import os
import signal
import subprocess
import sys
import time

ADOPT = 36
ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel buries them, and this one sleeps on
reader, writer = os.pipe()
take = f"""
import os, time
for _ in range(3):
    if os.fork() == 0:
        break
held = []
try:
    held.append(b"1" * (700 * 2**20))
except MemoryError:
    pass
os.write({writer}, b"1")
time.sleep(60)
"""
hop = """
hop() {
    n=$((n + 1))
    if [ $n = 800 ]; then "$0" -I -S -c "$1" & fi
    if [ $n -lt 900 ]; then hop "$1" & fi
}
n=0
hop "$1"
"""
subprocess.Popen(["/bin/sh", "-c", hop, sys.executable, take], pass_fds=(writer,))
for _ in range(4):
    os.read(reader, 1)
time.sleep(3)
raise Escaped("2.8 GB were held, and nobody minded")
