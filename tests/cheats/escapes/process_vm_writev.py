# /// cheat
# about = "The memory of a process of the grader's user may be written."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
# Nothing is written: no piece of memory is named.
for pid in ({victim_pid}, os.getpid()):
    if allowed(call("process_vm_writev", pid, 0, 0, 0, 0, 0)):
        raise Escaped(f"process {pid}")
