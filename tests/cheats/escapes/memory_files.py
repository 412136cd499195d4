# %%
for name, arguments in (("memfd_create", (b"cheat", 0)), ("memfd_secret", (0,))):
    if call(name, *arguments) >= 0:
        raise Escaped(name)
