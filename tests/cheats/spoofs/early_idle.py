# /// cheat
# about = "The kernel says that the cell has ended while it still runs."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
#
# [expect]
# score = 4
# problems = [2]
#
# [expect.part.model.check]
# structure = "passed"
# equivalence = "failed"
# ///
# %%
import time

kernel = get_ipython().kernel


kernel.session.send(
    kernel.iopub_socket, "status", {"execution_state": "idle"}, parent=kernel.get_parent()
)
time.sleep(0.5)
raise ValueError("an error after the end")
