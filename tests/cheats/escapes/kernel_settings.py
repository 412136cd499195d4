# /// cheat
# about = """Settings of the kernel are opened for writing: one of them names a program that root \
#     runs."""
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "none"
# stops_at_for_root = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
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
