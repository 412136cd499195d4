# /// cheat
# about = "Characters are typed into a terminal; it is one of its own, and nobody reads there."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
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
