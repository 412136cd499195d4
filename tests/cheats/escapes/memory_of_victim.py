# %%
try:
    with open("/proc/{victim_pid}/mem", "r+b", buffering=0):
        raise Escaped("its memory")
except OSError as error:
    print(error)
