# /// cheat
# about = "Right work that warns on standard error is right work."
# assignment = "small"
# cells = ["prelude", "right_model", "@"]
#
# [expect]
# score = 10
# problems = []
#
# [expect.part.model]
# score = 10
# ///
# %%
import sys
import warnings

print("score: 0", file=sys.stderr)
warnings.warn("something is deprecated", stacklevel=1)
