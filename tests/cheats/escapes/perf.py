# /// cheat
# about = "The kernel's performance counters are opened."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
SOFTWARE, TASK_CLOCK, USER_ONLY = 1, 1, 1 << 5 | 1 << 6
attributes = struct.pack("=IIQ24xQ80x", SOFTWARE, 128, TASK_CLOCK, USER_ONLY)
if call("perf_event_open", attributes, 0, -1, -1, 0) >= 0:
    raise Escaped("perf")
