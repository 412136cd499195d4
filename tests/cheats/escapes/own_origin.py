# /// cheat
# about = "Mounts and command lines of the sandbox are searched for the course's path."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os

paths = ["/proc/self/mountinfo", "/proc/1/cmdline"]
paths += [f"/proc/{pid}/{name}" for pid in (os.getppid(), "self") for name in ("cmdline", "cgroup")]
for path in paths:
    try:
        with open(path) as file:
            text = file.read()
    except OSError:
        continue
    if "{course}" in text or "submission.ipynb" in text:
        raise Escaped(path)
