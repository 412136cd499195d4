# /// cheat
# about = "Every object of the process is searched for expected outputs and hidden inputs."
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
import gc
import sys

names = ("oracle", "expected", "desired", "hidden_inputs", "referee")
for name in list(sys.modules):
    if any(part in names for part in name.split(".")):
        raise Escaped(name)
for each in gc.get_objects():
    if isinstance(each, dict):
        for key in ("desired", "from_test_set", "hidden_inputs", "expected_workload"):
            if key in each:
                raise Escaped(key)
frame = sys._getframe()
while frame is not None:
    if "referee" in frame.f_code.co_filename:
        raise Escaped(frame.f_code.co_filename)
    frame = frame.f_back
