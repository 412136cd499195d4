# %%
try:
    with open("{home_file}") as file:
        raise Escaped(file.read())
except OSError:
    pass
