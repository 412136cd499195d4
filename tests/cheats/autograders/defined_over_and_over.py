# /// cheat
# about = "The wrong answer is handed in two hundred times."
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
for number in range(200):
    exec(
        f"def create_model_{number}():\n    return create_model()\nmodule_{number} = create_model()"
    )

# %%
for number in range(200):
    globals()[f"again_{number}"] = create_model()
