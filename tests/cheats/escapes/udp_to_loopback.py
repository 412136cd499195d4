# %%
import socket

try:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.settimeout(5)
        caller.connect(("127.0.0.1", {udp_port}))
        caller.send(b"hello")
        raise Escaped(caller.recv(100).decode())
except OSError:
    pass
