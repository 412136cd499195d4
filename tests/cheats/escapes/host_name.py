# %%
name = os.uname().nodename.encode()
if allowed(call("sethostname", name, len(name))):
    raise Escaped("sethostname")
