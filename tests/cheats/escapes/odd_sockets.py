# /// cheat
# about = "Sockets of kinds that no notebook needs are made: each is a way into the kernel."
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

FAMILIES = {
    "netlink": 16,
    "packet": 17,
    "can": 29,
    "bluetooth": 31,
    "alg": 38,
    "vsock": 40,
    "xdp": 44,
}
for name, family in FAMILIES.items():
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
        try:
            socket.socket(family, kind).close()
        except OSError:
            continue
        raise Escaped(name)
