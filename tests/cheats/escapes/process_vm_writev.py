# %%
# Nothing is written: no piece of memory is named.
for pid in ({victim_pid}, os.getpid()):
    if allowed(call("process_vm_writev", pid, 0, 0, 0, 0, 0)):
        raise Escaped(f"process {pid}")
