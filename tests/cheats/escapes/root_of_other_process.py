# %%
import os

for pid in (1, os.getppid(), "{victim_pid}"):
    try:
        with open(f"/proc/{pid}/root{secret_file}") as file:
            raise Escaped(file.read())
    except OSError:
        continue
