# /// cheat
# about = "The assignment's oracle is read by its path."
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
    with open("{course}/assignments/small/oracle.py") as file:
        raise Escaped(file.readline())
except OSError:
    pass
