# /// cheat
# about = "A runner's answer, with outputs and with times, is written where captures are read."
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

from grader.messages.frames import pack_array
from grader.messages.runner import RunResult
from grader.messages.timing import ShapeResult, Slice, Slots, TimingResult

watchers = [each for each in gc.get_objects() if type(each).__name__ == "Watcher"]
outlets = [each for each in gc.get_objects() if type(each).__name__ == "Sender"]
emit = outlets[0]._emit

outputs = pack_array(np.zeros((16, 4, 16), "float32"))
seconds = pack_array(np.repeat([[1.0], [1.0], [1e-9], [1.0]], 20, axis=1))
units = pack_array(np.ones((4, 20)))
emit(RunResult(outputs))
slots = Slots(outputs, outputs, outputs)
shapes = (ShapeResult(outputs, (0,) * 16, slots),)
emit(
    TimingResult(
        "conv2d",
        "llvm",
        shapes,
        tuple(Slice(place % 4, (seconds,), (units,)) for place in range(16)),
    )
)
