# /// cheat
# about = "A frame with full points is written to every descriptor that is open."
# assignment = "small"
# cells = ["prelude", "wrong_model", "@"]
#
# [expect]
# score = { max = 4 }
# problems = []
#
# [expect.part.model]
# score = { max = 4 }
# ///
# %%
import os

text = b'\x40\x00\x00\x00\x00\x00\x00\x00{"score": 10, "max_score": 10, "verdict": "passed"}'
for descriptor in range(3, 128):
    try:
        if not os.get_blocking(descriptor):
            continue
        os.write(descriptor, text)
    except OSError:
        pass
