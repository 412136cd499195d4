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
