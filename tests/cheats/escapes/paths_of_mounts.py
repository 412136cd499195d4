# /// cheat
# about = "The table of mounts is read: it tells from which folders of the host they come."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import glob

PATHS = ("/proc/self/mountinfo", "/proc/self/mounts", "/proc/self/maps")
for path in (*PATHS, *glob.glob("/proc/[0-9]*/mountinfo")):
    try:
        with open(path) as file:
            told = file.read()
    except OSError:
        continue
    if "{course}" in told:
        raise Escaped(path)
