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
