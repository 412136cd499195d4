# /// cheat
# about = "A file in the home folder of whoever runs the grader is read by its path."
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
    with open("{home_file}") as file:
        raise Escaped(file.read())
except OSError:
    pass
