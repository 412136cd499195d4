# /// cheat
# about = "Threads and processes of the notebook go on working to slow down whatever is measured."
# assignment = "e2e-conv"
# cells = ["b_prelude", "b_model", "@"]
#
# [expect]
# problems = []
#
# [expect.part.emit_te]
# score = 40
#
# [expect.part.schedule]
# score = { max = 1.5 }
# ///
# %%
import subprocess
import sys
import threading
import time

END = time.time() + 60


def spin():
    """Keep a processor busy for a while."""
    while time.time() < END:
        torch.mm(torch.ones(256, 256), torch.ones(256, 256))


for _ in range(8):
    threading.Thread(target=spin, daemon=True).start()
script = "import time; end = time.time() + 60\nwhile time.time() < end: pass"
spinning = [subprocess.Popen([sys.executable, "-c", script]) for _ in range(4)]

sch = tvm.s_tir.Schedule(create_model_via_emit_te())
