# /// cheat
# about = "Files are made in memory, which no limit of a process counts."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
for name, arguments in (("memfd_create", (b"cheat", 0)), ("memfd_secret", (0,))):
    if call(name, *arguments) >= 0:
        raise Escaped(name)
