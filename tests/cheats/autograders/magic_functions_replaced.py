# /// cheat
# about = "The functions that run cells are replaced by ones that do nothing."
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
shell = get_ipython()


async def run_nothing(*_, **__):
    return None


shell.run_line_magic = shell.run_cell_magic = lambda *_, **__: None
shell.should_run_async = lambda *_, **__: False
shell.ask_exit = lambda: None
