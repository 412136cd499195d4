# /// cheat
# about = "A device file is made in the working folder."
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
import os
import stat

try:
    os.mknod("own-null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
except OSError:
    pass
else:
    os.unlink("own-null")
    raise Escaped("mknod")
