# %%
try:
    with open("{course}/assignments/small/oracle.py") as file:
        raise Escaped(file.readline())
except OSError:
    pass
