# /// cheat
# about = "The output of an earlier cell is rewritten, and a widget redirects outputs."
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
from IPython.display import display

handle = display("0 of 10 points", display_id="verdict")
# %%
display("10 of 10 points", display_id="verdict", update=True)
kernel = get_ipython().kernel
content = {"comm_id": "1", "target_name": "jupyter.widget", "data": {"state": {}}}
kernel.session.send(kernel.iopub_socket, "comm_open", content, parent=kernel.get_parent())
