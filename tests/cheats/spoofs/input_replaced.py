# /// cheat
# about = "Every later cell's text is replaced by nothing, tests that a grader might add included."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
get_ipython().input_transformers_cleanup.append(lambda lines: ["pass\n"])
