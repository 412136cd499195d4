# /// cheat
# about = "Captures are forged whose modules are no graphs, of the kinds that crash TVM."
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
import gc

from grader.messages.kernel import Capture

watchers = [each for each in gc.get_objects() if type(each).__name__ == "Watcher"]
outlets = [each for each in gc.get_objects() if type(each).__name__ == "Sender"]
emit = outlets[0]._emit

documents = [
    b"",
    b"{}",
    b"[" * 100_000,
    b'{"root_index": 99, "nodes": []}',
    b'{"root_index": 0, "nodes": [{"type": "ffi.Array", "data": [0]}]}',
    b'{"root_index": 0, "nodes": [{"type": "ffi.Function", "data": "system"}]}',
]
for document in documents:
    emit(Capture("model", "create_model", 1, True, document, base=document, trace=document))
