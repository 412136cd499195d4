# %%
if allowed(in_child(lambda: call("chroot", b"."))):
    raise Escaped("chroot")
if call("pivot_root", b"none", b"none") == -errno.ENOENT:
    raise Escaped("pivot_root")
