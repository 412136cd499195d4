# %%
shell = get_ipython()


async def run_nothing(*_, **__):
    return None


shell.run_line_magic = shell.run_cell_magic = lambda *_, **__: None
shell.should_run_async = lambda *_, **__: False
shell.ask_exit = lambda: None
