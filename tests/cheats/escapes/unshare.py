# /// cheat
# about = "New namespaces are made, in which this process would have powers."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import functools

NAMESPACES = {
    "time": 0x00000080,
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
}

for name, flag in NAMESPACES.items():
    if allowed(in_child(functools.partial(call, "unshare", flag))):
        raise Escaped(name)
