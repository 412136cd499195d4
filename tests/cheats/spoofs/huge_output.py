# %%
print("10 of 10 points " * 5_000_000)
