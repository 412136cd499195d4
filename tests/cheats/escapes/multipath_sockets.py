# %%
import socket

IPPROTO_MPTCP, IPPROTO_UDPLITE = 262, 136
for kind, protocol in ((socket.SOCK_STREAM, IPPROTO_MPTCP), (socket.SOCK_DGRAM, IPPROTO_UDPLITE)):
    try:
        socket.socket(socket.AF_INET, kind, protocol).close()
    except OSError:
        continue
    raise Escaped(f"a socket of protocol {protocol}")
