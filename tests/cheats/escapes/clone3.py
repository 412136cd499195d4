# %%
USER = 0x10000000
arguments = struct.pack("=8Q", USER, 0, 0, 0, signal.SIGCHLD, 0, 0, 0)
child = call("clone3", arguments, len(arguments))
if child == 0:
    os._exit(0)
if child > 0:
    os.waitpid(child, 0)
    raise Escaped("a user namespace")
