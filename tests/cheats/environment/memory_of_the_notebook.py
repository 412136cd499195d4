# %%
hoard = []
try:
    while True:
        hoard.append(b"1" * 2**26)
except MemoryError:
    hoard.clear()
