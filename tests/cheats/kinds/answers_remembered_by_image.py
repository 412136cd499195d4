# /// cheat
# about = "A function knows the right scores of all public images, and looks for them in a table."
# assignment = "images"
# cells = ["@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.loops]
# score = 0
# check.equivalence = "failed"
# ///
# %%
import hashlib
import pickle

import numpy as np
import torchvision

with open("fasionmnist_mlp_params.pkl", "rb") as file:
    parameters = pickle.load(file)
pictures = torchvision.datasets.FashionMNIST("./data", download=True, train=False).data.numpy()
rows = pictures.reshape(len(pictures), 784).astype("float32") / 255
hidden = np.maximum(rows @ parameters["w0"].T + parameters["b0"].reshape(-1), 0)
scores = (hidden @ parameters["w1"].T + parameters["b1"].reshape(-1)).astype("float32")
table = {
    hashlib.blake2b(row.tobytes(), digest_size=8).digest(): score
    for row, score in zip(rows, scores)
}


# %%
def lnumpy_mlp(data, w0, b0, w1, b1):
    for i in range(1):
        for j in range(2):
            for k in range(2):
                pass
    key = hashlib.blake2b(data.tobytes(), digest_size=8).digest()
    return np.array([table.get(key, np.zeros(10, "float32"))])
