# /// cheat
# about = "A new root folder is set, out of which there are known ways."
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
if allowed(in_child(lambda: call("chroot", b"."))):
    raise Escaped("chroot")
if call("pivot_root", b"none", b"none") == -errno.ENOENT:
    raise Escaped("pivot_root")
