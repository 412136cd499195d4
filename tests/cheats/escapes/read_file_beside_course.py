# %%
try:
    with open("{secret_file}") as file:
        raise Escaped(file.read())
except OSError:
    pass
