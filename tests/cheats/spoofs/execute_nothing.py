# /// cheat
# about = """The kernel's do_execute is replaced by one that runs nothing and says that all went \
#     well."""
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 0
# problems = []
# ///
# %%
async def do_execute(*arguments, **options):
    """Run nothing."""
    return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}


get_ipython().kernel.do_execute = do_execute
