# /// cheat
# about = "A namespace is entered; it is its own, so that nothing changes."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
try:
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
except OSError:
    namespace = -1
if namespace >= 0 and allowed(in_child(lambda: call("setns", namespace, 0))):
    raise Escaped("setns")
