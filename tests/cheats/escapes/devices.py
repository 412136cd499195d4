# /// cheat
# about = "Disks and the memory of the machine are opened."
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

for folder in ("/dev", "/dev/mapper"):
    try:
        names = os.listdir(folder)
    except OSError:
        continue
    for name in names:
        path = f"{folder}/{name}"
        try:
            mode = os.stat(path).st_mode
            if mode & stat.S_IROTH:
                continue  # everybody's, as /dev/fuse mostly is: whoever opens it has gained nothing
            if stat.S_ISBLK(mode) or name in ("mem", "port", "kvm", "kmsg", "vsock", "vhost-net"):
                os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
                raise Escaped(path)
        except OSError:
            continue
