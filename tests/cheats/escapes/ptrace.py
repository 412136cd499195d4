# /// cheat
# about = "A process of the grader's user is traced."
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

SEIZE, TRACE_ME = 0x4206, 0
for request, pid in ((SEIZE, {victim_pid}), (TRACE_ME, 0)):
    # A child that ends lets go of what it traces.
    if allowed(in_child(functools.partial(call, "ptrace", request, pid, 0, 0))):
        raise Escaped(f"ptrace {request}")
