# /// cheat
# about = "What lies beside the grader's package is looked up where Python remembers it."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
# Who imports a module remembers what is beside it: the folder that the grader lies in is closed
# here, and its finder was left behind with the names of all that was there.
import pathlib
import sys

folder = pathlib.Path("{package}").resolve().parent
finder = sys.path_importer_cache.get(str(folder))
if str(folder) not in sys.path and getattr(finder, "_path_cache", ()):
    raise Escaped(f"{len(finder._path_cache)} names in {folder}")
