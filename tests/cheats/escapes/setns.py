# %%
try:
    namespace = os.open("/proc/self/ns/net", os.O_RDONLY)
except OSError:
    namespace = -1
if namespace >= 0 and allowed(in_child(lambda: call("setns", namespace, 0))):
    raise Escaped("setns")
