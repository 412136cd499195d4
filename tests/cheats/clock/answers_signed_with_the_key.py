# /// cheat
# about = "The kernel's own session signs replies to questions that nobody has asked."
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
kernel = get_ipython().kernel
content = {"status": "ok", "execution_count": 99, "user_expressions": {}, "payload": []}
for number in range(5):
    kernel.session.send(
        kernel.shell_stream if hasattr(kernel, "shell_stream") else kernel.iopub_socket,
        "execute_reply",
        content,
        parent={"msg_id": f"forged-{number}", "session": kernel.session.session},
    )
    kernel.session.send(
        kernel.iopub_socket,
        "execute_result",
        {"data": {"text/plain": "10 of 10 points"}, "metadata": {}, "execution_count": number},
        parent=kernel.get_parent(),
    )
