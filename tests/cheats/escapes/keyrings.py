# /// cheat
# about = "Keys are put into and read from the kernel's keyrings, which outlive the process."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
GET_KEYRING, PROCESS_KEYRING = 0, -2
if call("keyctl", GET_KEYRING, PROCESS_KEYRING, 1) >= 0:
    raise Escaped("keyctl")
if call("add_key", b"user", b"cheat", b"x", 1, PROCESS_KEYRING) >= 0:
    raise Escaped("add_key")
