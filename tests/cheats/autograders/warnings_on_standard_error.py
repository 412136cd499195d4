# %%
import sys
import warnings

print("score: 0", file=sys.stderr)
warnings.warn("something is deprecated", stacklevel=1)
