# /// cheat
# about = "The kernel's messages are read."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
try:
    with open("/proc/sys/kernel/dmesg_restrict") as file:
        is_open_to_users = "0" == file.read().strip() and os.geteuid() != 0
except OSError:
    is_open_to_users = False

SIZE_OF_BUFFER = 10
if call("syslog", SIZE_OF_BUFFER, 0, 0) >= 0 and not is_open_to_users:
    raise Escaped("syslog")
try:
    os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
except OSError:
    pass
else:
    if not is_open_to_users:
        raise Escaped("/dev/kmsg")
