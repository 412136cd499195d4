# %%
for name in (b"tmpfs", b"proc"):
    if call("fsopen", name, 0) >= 0:
        raise Escaped(name.decode())
CLONE = 1
if call("open_tree", -100, b"/usr", CLONE) >= 0:
    raise Escaped("open_tree")
