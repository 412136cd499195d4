# /// cheat
# about = "A process is started in a new user namespace by the call whose flags no filter can read."
# assignment = "small"
# cells = ["prelude", "system", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
USER = 0x10000000
# A thread needs its parent's signal handlers: without them this is an error, once it is allowed.
THREAD = 0x00010000
arguments = struct.pack("=8Q", USER | THREAD, 0, 0, 0, 0, 0, 0, 0)
if allowed(call("clone3", arguments, len(arguments))):
    raise Escaped("a user namespace")
