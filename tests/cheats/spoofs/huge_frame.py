# %%
for captures in channels():
    captures.sendall(b"\xff" * 8)
    captures.sendall(bytes(2**20))
