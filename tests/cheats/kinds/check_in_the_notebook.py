# /// cheat
# about = "The self-check is loaded, asked and replaced while the notebook is graded."
# assignment = "kinds"
# cells = ["prelude", "@"]
#
# [expect]
# score = 0
#
# [expect.part.loops]
# score = 0
# ///
# %%
import IPython

_shell = IPython.get_ipython()
try:
    _shell.run_line_magic("load_ext", "grader")
    _shell.run_line_magic("grader", "check")
except Exception as error:
    print(type(error))
_shell.register_magic_function(lambda line: print("70 of 70 points"), "line", "grader")
_shell.run_line_magic("grader", "check loops")


# %%
def product(A, B):
    return A @ B * 0
