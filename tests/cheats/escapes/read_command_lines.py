# %%
import pathlib

for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try:
        text = path.read_text()
    except OSError:
        continue
    if "{marker}" in text and "ipykernel" not in text:
        raise Escaped(text)
