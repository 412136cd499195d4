# %%
import socket

try:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"hello", "{datagram_path}")
except OSError:
    pass
else:
    raise Escaped("{datagram_path}")
