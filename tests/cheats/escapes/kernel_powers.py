# %%
ATTEMPTS = {
    "init_module": (0, 0, b""),
    "reboot": (0, 0, 0, 0),
    "swapon": (b"/nowhere", 0),
    "acct": (b"/nowhere",),
    "kexec_load": (0, 1000, 0, 0),
}
for name, arguments in ATTEMPTS.items():
    if allowed(call(name, *arguments)):
        raise Escaped(name)
