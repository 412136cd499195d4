# %%
# A buffer of its own lies where it lay in the call before: nobody clears it. So the function keeps
# four inputs with their outputs there, and copies what it has computed before.
sch = install("!=", 0)
