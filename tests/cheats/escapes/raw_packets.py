# %%
import socket

try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP).close()
except OSError:
    pass
else:
    raise Escaped("a raw socket")
