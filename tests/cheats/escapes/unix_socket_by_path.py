# %%
import socket

try:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as caller:
        caller.settimeout(5)
        caller.connect("{unix_path}")
        raise Escaped(caller.recv(100).decode())
except OSError:
    pass
