# /// cheat
# about = "A setuid program, such as su, would give powers."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import pathlib

fields = dict(
    line.split(":\t", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines()
)
if fields["NoNewPrivs"] != "1":
    raise Escaped("setuid programs have their powers")
