# /// cheat
# about = """A sleeper that was looked at ends, and its number becomes that of a process that \
#     takes memory."""
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
# ///
# Numbers come in a row and begin anew. Whoever keeps what it knew of a number knows it of another.
# %%
import _thread
import os
import signal
import time

reader, writer = os.pipe()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
_thread.stack_size(2**16)
try:
    with open("/proc/sys/kernel/pid_max") as file:
        is_short = int(file.read()) <= 2**16
except OSError:  # Landlock closes it
    is_short = True


def take():
    held = []
    try:
        held.append(b"1" * (700 * 2**20))
    except MemoryError:
        pass
    os.write(writer, b"1")
    time.sleep(60)
    os._exit(0)


sleepers = []
for _ in range(4):
    child = os.fork()
    if child == 0:
        time.sleep(60)
        os._exit(0)
    sleepers.append(child)
time.sleep(1.5)
for child in sleepers:
    os.kill(child, signal.SIGKILL)

newest = []
end = time.monotonic() + 8
while is_short and time.monotonic() < end:
    lock = _thread.allocate_lock()
    lock.acquire()
    _thread.start_new_thread(lambda: (newest.append(_thread.get_native_id()), lock.release()), ())
    lock.acquire()
    if sleepers[0] - 100 < newest[-1] < sleepers[0]:
        break
taken = 0
for _ in range(400):
    if taken == 4:
        break
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        if os.getpid() in sleepers or not is_short:
            take()
        os._exit(0)
    os.close(read), os.close(write)
    taken += child in sleepers or not is_short
for _ in range(taken):
    os.read(reader, 1)
time.sleep(5)
if taken == 4:
    raise Escaped("2.8 GB were held, and nobody minded")
