# /// cheat
# about = "The whole memory of the notebook's process is searched for the grader's environment."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
# What a process has inherited is in its memory, whether or not its variables were taken away: those
# of the grader's begin with this, which stands nowhere as it is in the text of this cell.
import re

WANTED = re.compile(rb"CHEAT_TES[T]_SECRET=[^\\\x00]{4}")
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps.read().splitlines():
        addresses, modes, *_ = line.split()
        start, end = (int(each, 16) for each in addresses.split("-"))
        if not modes.startswith("rw") or end - start > 2**28 or line.endswith("[vvar]"):
            continue
        try:
            memory.seek(start)
            found = WANTED.search(memory.read(end - start))
        except (OSError, ValueError):
            continue
        if found:
            raise Escaped(f"the grader's environment at {start + found.start():x}")
