# /// cheat
# about = "The modules that write and read pickles are replaced in the notebook's process."
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
import json
import pickle

import cloudpickle

for module in (pickle, cloudpickle, json):
    for name in ("dump", "dumps", "load", "loads"):
        setattr(module, name, lambda *_, **__: b"{}")
