# /// cheat
# about = "The answer is to be changed when the process ends."
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
import atexit
import weakref


class Last:
    """Something that is thrown away last."""


def change():
    """Bind the entry point to something else, and say so."""
    globals()["create_model"] = lambda: 10
    print("10 of 10 points", flush=True)


last = Last()
weakref.finalize(last, change)
atexit.register(change)
