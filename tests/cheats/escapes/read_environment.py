# %%
try:
    with open("/proc/{victim_pid}/environ") as file:
        raise Escaped(file.read())
except OSError:
    pass
