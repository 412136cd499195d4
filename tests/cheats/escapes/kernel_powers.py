# /// cheat
# about = "Modules, restarts, swap and accounting: all asked for in a form that cannot work."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
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
