# %%
USER_MODE_ONLY = 1
if call("userfaultfd", USER_MODE_ONLY) >= 0:
    raise Escaped("userfaultfd")
