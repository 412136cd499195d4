# /// cheat
# about = "Settings of the machine in /sys are opened for writing."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
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
