# %%
import time

kernel = get_ipython().kernel


kernel.session.send(
    kernel.iopub_socket, "status", {"execution_state": "idle"}, parent=kernel.get_parent()
)
time.sleep(0.5)
raise ValueError("an error after the end")
