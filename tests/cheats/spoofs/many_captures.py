# /// cheat
# about = "More captures are sent than anybody would grade."
# assignment = "small"
# cells = ["prelude", "wrong_model", "channel", "@"]
#
# [expect]
# score = 0
# problems = []
# ///
# %%
from grader.messages.frames import encode_frame
from grader.messages.kernel import Capture

for captures in channels():
    for number in range(3000):
        forged = Capture(
            part="model",
            name=f"create_model_{number}",
            cell=2,
            by_name=True,
            module=b'{"number": %d}' % number,
            base=None,
            trace=None,
            externs={},
        )
        captures.sendall(encode_frame(forged))
