# /// cheat
# about = "A descriptor that was inherited leads to a file, a folder or a device of the host."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import stat

HARMLESS = ("/dev/null", "/dev/urandom", "/dev/random", "/proc/")
for name in os.listdir("/proc/self/fd"):
    try:
        status, target = os.fstat(int(name)), os.readlink(f"/proc/self/fd/{name}")
    except OSError:  # the descriptor of the listing itself
        continue
    kind = stat.S_IFMT(status.st_mode)
    if kind in (stat.S_IFSOCK, stat.S_IFIFO, 0) or target.startswith(HARMLESS):
        continue
    raise Escaped(f"{name} is {target}")
