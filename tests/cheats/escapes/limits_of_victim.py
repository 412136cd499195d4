# /// cheat
# about = "The limits of another process are read, and those of this one are raised."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
# stops_at = "minimal"
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import resource

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
try:
    resource.prlimit({victim_pid}, resource.RLIMIT_NOFILE)
except OSError:
    pass
else:
    raise Escaped("prlimit")
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC, resource.RLIMIT_DATA):
    soft, hard = resource.getrlimit(kind)
    if hard == resource.RLIM_INFINITY:
        raise Escaped(f"no limit {kind}")
    try:
        resource.setrlimit(kind, (soft, hard + 1))
    except (OSError, ValueError):
        continue
    raise Escaped(f"limit {kind} was raised")
