# /// cheat
# about = "The memory of another process of the grader's user is opened for writing."
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
    with open("/proc/{victim_pid}/mem", "r+b", buffering=0):
        raise Escaped("its memory")
except OSError as error:
    print(error)
