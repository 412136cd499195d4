# %%
UNCHANGED = 0xFFFFFFFF
if call("personality", UNCHANGED) >= 0:
    raise Escaped("personality")
