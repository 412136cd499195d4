# /// cheat
# about = "The functions with which IPython shows errors and ends cells are replaced."
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
from IPython.core.interactiveshell import ExecutionResult

shell = get_ipython()
for name in ("showtraceback", "showsyntaxerror", "_showtraceback", "show_usage_error"):
    setattr(shell, name, lambda *_, **__: None)
ExecutionResult.raise_error = lambda self: None
ExecutionResult.success = property(lambda self: True)

# %%
create_model = None
