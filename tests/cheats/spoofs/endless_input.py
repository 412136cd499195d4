# /// cheat
# about = "The notebook asks for input that nobody gives."
# assignment = "small"
# cells = ["prelude", "@", "wrong_model"]
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
import sys

try:
    answer = input("How many points? ")
except Exception as error:
    print(type(error).__name__)
