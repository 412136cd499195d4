# /// cheat
# about = "All processes are searched for one whose command line tells a secret."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import pathlib

for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        text = path.read_text()
    except OSError:
        continue
    if "{marker}" in text and "ipykernel" not in text:
        raise Escaped(text)
