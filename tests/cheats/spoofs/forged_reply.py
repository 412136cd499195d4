# /// cheat
# about = "A reply that the cell has ended well is sent before it ends in an error."
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
kernel = get_ipython().kernel

reply = {"status": "ok", "execution_count": 99, "payload": [], "user_expressions": {}}
stream = kernel.shell_stream if hasattr(kernel, "shell_stream") else kernel.shell_socket
try:
    kernel.session.send(
        stream, "execute_reply", reply, parent=kernel.get_parent(), ident=kernel._parent_ident
    )
except Exception as error:
    print(type(error))
raise ValueError("an error after the reply")
