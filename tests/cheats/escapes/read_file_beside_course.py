# /// cheat
# about = "A file with answers beside the course is read by its path."
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
    with open("{secret_file}") as file:
        raise Escaped(file.read())
except OSError:
    pass
