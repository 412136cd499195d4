# %%
for captures in channels():
    captures.sendall((2**20).to_bytes(4, "big") + b"x")
    captures.sendall((2**20).to_bytes(4, "little") + b"x")
