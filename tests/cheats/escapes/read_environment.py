# /// cheat
# about = "The environment of another process of the grader's user is read."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
try:
    with open("/proc/{victim_pid}/environ") as file:
        raise Escaped(file.read())
except OSError:
    pass
