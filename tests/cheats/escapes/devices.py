# %%
import os
import stat

for folder in ("/dev", "/dev/mapper"):
    try:
        names = os.listdir(folder)
    except OSError:
        continue
    for name in names:
        path = f"{folder}/{name}"
        try:
            is_disk = stat.S_ISBLK(os.stat(path).st_mode)
            if is_disk or name in ("mem", "port", "kvm", "fuse", "kmsg", "vsock", "vhost-net"):
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                raise Escaped(path)
        except OSError:
            continue
