# %%
async def do_execute(*arguments, **options):
    """Run nothing."""
    return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}


get_ipython().kernel.do_execute = do_execute
