# /// cheat
# about = "Rubbish is written to every descriptor that was inherited."
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
import os

for descriptor in range(3, 1024):
    try:
        os.set_blocking(descriptor, False)
        os.write(descriptor, b"\xde\xad\xbe\xef" * 64)
    except OSError:
        continue
