import os
import socket


def channels():
    """Return the sockets on which the kernel hands over what it found: pairs without a name."""
    found = []
    for descriptor in range(3, 1024):
        try:
            end = socket.socket(fileno=os.dup(descriptor))
            if (
                end.family == socket.AF_UNIX
                and end.type == socket.SOCK_STREAM
                and not end.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
                and not end.getsockname()
                and os.get_blocking(descriptor)
            ):
                found.append(end)
        except OSError:
            continue
    return found


assert channels(), "there is no channel to attack"
