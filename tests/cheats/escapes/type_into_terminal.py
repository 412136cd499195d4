# %%
import fcntl
import os

TIOCSTI = 0x5412
try:
    ours, terminal = os.openpty()
except OSError:
    pass
else:
    try:
        fcntl.ioctl(terminal, TIOCSTI, b" ")
    except OSError:
        pass
    else:
        raise Escaped("a character was typed")
    finally:
        os.close(ours)
        os.close(terminal)
