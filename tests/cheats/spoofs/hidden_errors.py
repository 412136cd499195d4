# /// cheat
# about = "Errors of all cells are swallowed by a handler of its own."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 4
# problems = [3]
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
shell = get_ipython()
shell.set_custom_exc((BaseException,), lambda *arguments, **options: None)
shell.showtraceback = lambda *arguments, **options: None
# %%
raise AssertionError("a test that fails")
