# /// cheat
# about = "File systems may be mounted by the newer calls, which filters may not know."
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
for name in (b"tmpfs", b"proc"):
    if call("fsopen", name, 0) >= 0:
        raise Escaped(name.decode())
CLONE = 1
if call("open_tree", -100, b"/usr", CLONE) >= 0:
    raise Escaped("open_tree")
