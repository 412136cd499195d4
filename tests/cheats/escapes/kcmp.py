# %%
FILE = 0
for pid in ({victim_pid}, os.getpid()):
    if call("kcmp", os.getpid(), pid, FILE, 0, 0) >= 0:
        raise Escaped(f"process {pid}")
