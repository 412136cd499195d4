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
