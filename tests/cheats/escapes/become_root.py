# %%
import os
import pathlib

if 0 in os.getresuid():
    raise Escaped("root")
for change in (lambda: os.setresuid(0, 0, 0), lambda: os.setresgid(0, 0, 0)):
    try:
        change()
    except OSError:
        continue
    raise Escaped("root")
fields = dict(
    line.split(":\t", 1) for line in pathlib.Path("/proc/self/status").read_text().splitlines()
)
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
    if int(fields[name], 16):
        raise Escaped(f"{name} {fields[name]}")
