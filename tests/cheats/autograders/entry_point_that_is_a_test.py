# /// cheat
# about = "The entry point tests itself and reports success in place of a module."
# assignment = "small"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.model]
# score = 0
# ///
# %%
def create_model():
    """Return the best report there is."""
    return {"score": 10, "max_score": 10, "verdict": "passed"}
