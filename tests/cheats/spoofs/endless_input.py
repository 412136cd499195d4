# %%
import sys

try:
    answer = input("How many points? ")
except Exception as error:
    print(type(error).__name__)
