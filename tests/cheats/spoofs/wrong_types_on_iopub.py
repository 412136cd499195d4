# /// cheat
# about = "Signed messages whose contents have wrong types are sent on the channel of outputs."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
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
import time

kernel = get_ipython().kernel


parent = kernel.get_parent()
for kind, content in (
    ("stream", {"name": 3, "text": {}}),
    ("error", {"ename": [], "evalue": {}, "traceback": 5}),
    ("execute_input", {"execution_count": "many"}),
    ("display_data", {"data": 3, "metadata": [], "transient": "x"}),
    ("clear_output", {"wait": "never"}),
    ("comm_open", {"comm_id": {}, "target_name": [], "data": 1}),
    ("status", {"execution_state": {}}),
):
    kernel.session.send(kernel.iopub_socket, kind, content, parent=parent)
time.sleep(1)
