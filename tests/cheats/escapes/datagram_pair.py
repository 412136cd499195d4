# /// cheat
# about = "A socket pair, which no filter of socket() sees, sends a datagram by path."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import socket

try:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ours.sendto(b"hello", "{datagram_path}")
except OSError:
    pass
else:
    raise Escaped("{datagram_path}")
