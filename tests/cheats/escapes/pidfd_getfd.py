# /// cheat
# about = "A descriptor is taken out of a process of the grader's user."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
for pid in ({victim_pid}, os.getpid()):
    process = call("pidfd_open", pid, 0)
    if process >= 0 and call("pidfd_getfd", process, 0, 0) >= 0:
        raise Escaped(f"a descriptor of process {pid}")
