# %%
import glob
import os

PATTERNS = (
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/block/*/uevent",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/*/tasks",
)
for path in [path for pattern in PATTERNS for path in glob.glob(pattern)]:
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        continue
    raise Escaped(path)
