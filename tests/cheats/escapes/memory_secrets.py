# /// cheat
# about = "This process's own memory is searched for the seed of the hidden inputs."
# assignment = "small"
# cells = ["prelude", "@", "right_model"]
#
# [expect]
# score = 10
# problems = []
# ///
# %%
import os
import re

LIMIT = 256 * 2**20


def pieces():
    """Yield what stands in this process's memory."""
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps.read().splitlines():
            start, end = (int(word, 16) for word in re.match(r"(\w+)-(\w+)", line).groups())
            if " rw" in line and end - start <= LIMIT:
                try:
                    memory.seek(start)
                    yield np.frombuffer(memory.read(end - start), np.uint8)
                except (OSError, OverflowError):
                    continue


def is_in_memory(differences):
    """Say whether bytes stand there of which only the differences are known."""
    wanted = bytes(differences)
    return any(wanted in np.diff(piece).tobytes() for piece in pieces() if len(piece) > 1)


planted = bytes(range(65, 97)) + os.urandom(8)
assert is_in_memory(np.diff(np.frombuffer(planted, np.uint8)).tolist()), "the search finds nothing"
for differences in {seed_differences}:
    if is_in_memory(differences):
        raise Escaped("the seed")
