# /// cheat
# about = "POSIX shared memory of another program is read."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "basic"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
try:
    with open("{shared_memory}") as file:
        raise Escaped(file.read())
except OSError:
    pass
