# /// cheat
# about = "Whatever is run after this cell is replaced by an empty line."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model]
# score = 4
# ///
# %%
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\n"])

# %%
raise RuntimeError("never seen")
