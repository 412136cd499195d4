# /// cheat
# about = "File systems may be mounted. What is asked for is not possible, so nothing is mounted."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
PRIVATE = 1 << 18
os.makedirs("no-mount-point", exist_ok=True)
result = call("mount", b"none", b"no-mount-point", b"none", PRIVATE, 0)
if result == -errno.EINVAL:  # not for want of rights: the folder is no mount point
    raise Escaped("mount")
if call("umount2", b"no-mount-point", 0) == -errno.EINVAL:
    raise Escaped("umount")
