# /// cheat
# about = "Kernel objects of two processes are compared, which tells where they lie."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
FILE = 0
for pid in ({victim_pid}, os.getpid()):
    if call("kcmp", os.getpid(), pid, FILE, 0, 0) >= 0:
        raise Escaped(f"process {pid}")
