# %%
import json
import pickle

import cloudpickle

for module in (pickle, cloudpickle, json):
    for name in ("dump", "dumps", "load", "loads"):
        setattr(module, name, lambda *_, **__: b"{}")
