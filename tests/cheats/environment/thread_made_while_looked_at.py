# /// cheat
# about = """While one thread is looked at, another makes a third; that one is in no list, and \
#     takes memory."""
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = [3]
# ///
# The warden lists threads, and then notes for each how long it ran. A watch of the first one's file
# says when: a thread made by the last one by then is in no list, and its maker never runs again. A
# box has no watches any more, so that the cell ends at its first line with one.
# %%
import ctypes
import os
import threading
import time

OPENED = 0x20
library = ctypes.CDLL(None, use_errno=True)
queue = library.inotify_init1(0)
threading.stack_size(2**16)
idle = [threading.Thread(target=time.sleep, args=(60,), daemon=True) for _ in range(50)]
for thread in idle:
    thread.start()
looked_at = f"/proc/self/task/{idle[0].native_id}/schedstat".encode()
assert library.inotify_add_watch(queue, looked_at, OPENED) >= 0, ctypes.get_errno()
reader, writer = os.pipe()


def hide():
    time.sleep(0.25)
    for _ in range(4):
        if os.fork() == 0:
            held = []
            try:
                held.append(b"1" * (700 * 2**20))
            except MemoryError:
                pass
            os.write(writer, b"1")
            time.sleep(60)
            os._exit(0)


def ambush():
    time.sleep(1)
    os.read(queue, 2**20)  # earlier looks
    os.read(queue, 2**12)
    threading.Thread(target=hide, daemon=True).start()
    time.sleep(60)


threading.Thread(target=ambush, daemon=True).start()
for _ in range(4):
    os.read(reader, 1)
time.sleep(3)
raise Escaped("2.8 GB were held, and nobody minded")
