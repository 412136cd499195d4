# %%
import os

for path in (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        continue
    raise Escaped(path)
