# /// cheat
# about = "All that can be seen is watched, as often as the kernel allows."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
# A watch of a file is memory of the kernel, and keeps the file's own there; nobody's limits on
# memory, files and descriptors of a process are about it.
import ctypes
import errno
import os
import time

library = ctypes.CDLL(None, use_errno=True)
CREATED = 0x100
end = time.monotonic() + 8
queues = []
while (number := library.inotify_init1(0)) >= 0 and len(queues) < 500:
    queues.append(number)


def watch_all(queue):
    """Return whether more may be watched."""
    for folder, folders, names in os.walk("/usr"):
        for name in (".", *names):
            path = os.fsencode(os.path.join(folder, name))
            refused = library.inotify_add_watch(queue, path, CREATED) < 0
            if refused and ctypes.get_errno() == errno.ENOSPC:
                return False
            if time.monotonic() > end:
                return False
    return True


for queue in queues:
    if not watch_all(queue):
        break
