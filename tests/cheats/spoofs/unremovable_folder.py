# /// cheat
# about = "Folders are nested beyond the longest path, and locked, so that they cannot be removed."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os

home = os.getcwd()
os.makedirs("locked/inner")
os.chmod("locked/inner", 0)
os.chmod("locked", 0)
for _ in range(2000):
    os.mkdir("deeper" * 10)
    os.chdir("deeper" * 10)
os.chdir(home)
