# /// cheat
# about = "Every cell's text is read before it runs, for tests that a grader might add."
# assignment = "small"
# cells = ["prelude", "@1", "wrong_model", "@2"]
#
# [expect]
# score = 4
# problems = []
# ///
# %%
seen = []


def remember(lines):
    """Keep a cell's text as it comes."""
    seen.append("".join(lines))
    return lines


get_ipython().input_transformers_cleanup.append(remember)
# %%
foreign = [text for text in seen if "create_model" not in text and "foreign" not in text]
if foreign:
    raise Escaped(foreign[0])
