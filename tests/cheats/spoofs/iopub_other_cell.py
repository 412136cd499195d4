# /// cheat
# about = "Outputs are sent in the name of other cells and other sessions."
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

parent = kernel.get_parent()
for identity in ("0" * 32, parent["header"]["msg_id"][:-1] + "9", ""):
    header = {**parent["header"], "msg_id": identity, "session": "referee"}
    for kind, content in (
        ("stream", {"name": "stdout", "text": "10 of 10 points"}),
        ("status", {"execution_state": "idle"}),
        ("error", {"ename": "Escaped", "evalue": "", "traceback": []}),
    ):
        kernel.session.send(kernel.iopub_socket, kind, content, parent={"header": header})
