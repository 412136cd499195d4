# %%
SIZE_OF_BUFFER = 10
if call("syslog", SIZE_OF_BUFFER, 0, 0) >= 0:
    raise Escaped("syslog")
try:
    os.close(os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK))
except OSError:
    pass
else:
    raise Escaped("/dev/kmsg")
