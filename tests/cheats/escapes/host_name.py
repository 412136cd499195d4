# /// cheat
# about = "The machine's name may be set; it is set to what it is."
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
name = os.uname().nodename.encode()
if allowed(call("sethostname", name, len(name))):
    raise Escaped("sethostname")
