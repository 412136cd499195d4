# /// cheat
# about = "The kernel's do_execute is replaced, so that every cell seems to end well."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 4
# problems = []
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
kernel = get_ipython().kernel
honest = type(kernel).do_execute


async def do_execute(*arguments, **options):
    """Say that every cell went well."""
    reply = await honest(kernel, *arguments, **options)
    return {"status": "ok", "execution_count": reply["execution_count"], "payload": []}


kernel.do_execute = do_execute
# %%
raise AssertionError("a test that fails")
