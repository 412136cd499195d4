# %%
try:
    with open("{shared_memory}") as file:
        raise Escaped(file.read())
except OSError:
    pass
