# /// cheat
# about = """A lease on a file of this user, as libraries are, has whoever opens it wait for 45 \
#     seconds."""
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import fcntl

with open("leased", "w") as file:
    file.write("x")
with open("leased") as file:
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except PermissionError:
        pass
    else:
        raise Escaped("whoever opens this file waits")
