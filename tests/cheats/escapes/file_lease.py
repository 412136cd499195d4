# %%
import fcntl

with open("leased", "w") as file:
    file.write("x")
with open("leased") as file:
    try:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    except PermissionError:
        pass
    else:
        raise Escaped("whoever opens this file waits")
