# %%
for number in range(200):
    exec(
        f"def create_model_{number}():\n    return create_model()\nmodule_{number} = create_model()"
    )

# %%
for number in range(200):
    globals()[f"again_{number}"] = create_model()
