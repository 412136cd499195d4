# /// cheat
# about = "Captures of parts and cells that do not exist, and of modules that are none, are forged."
# assignment = "small"
# cells = ["prelude", "wrong_model", "channel", "@"]
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
from grader.messages.frames import encode_frame
from grader.messages.kernel import Capture, CaptureFailure

# No more than the grader looks at, or the honest module is not looked at any more.
DOCUMENTS = (b"", b"[" * 100_000, b'{"score": 10}', b'{"root_index": 1e99}')
for captures in channels():
    for part in ("model", "bonus", "../../report", "\x1b[2J"):
        for document in DOCUMENTS:
            forged = Capture(
                part=part,
                name="create_model",
                cell=10**6,
                by_name=True,
                module=document,
                base=None,
                trace=None,
                externs={},
            )
            captures.sendall(encode_frame(forged))
    failure = CaptureFailure(
        part="model", name="[bold]10 of 10[/bold]", cell=1, reason="raised", message="\x1b[2J" * 9
    )
    captures.sendall(encode_frame(failure))
