# /// cheat
# about = """Captures that no kernel would send: no module, wrong kinds, odd names, texts that \
#     take long."""
# assignment = "kinds"
# cells = ["prelude", "forge", "@"]
#
# [expect]
# score = 0
# problems = []
#
# [expect.part.loops]
# score = 0
#
# [expect.part.add]
# score = 0
#
# [expect.part.imported_other]
# score = 0
# ///
# %%
import cloudpickle

PYTHON = "grader.python"
_zeros = cloudpickle.dumps(lambda A, B: np.zeros((3, 5), "float32"))
_many = ";".join(["A@A"] * 4000)
_deep = "".join(" " * depth + f"def f{depth}():\n" for depth in range(80)) + " " * 80 + _many
_texts = [
    _deep,
    "def product(A, B):\n " + _many,
    "(" * 65_536,
    "def product(A, B):\n return A" + ".a" * 9_000,
    "def product(A, B):\n return \0",
    "def product(A, B):\n return " + "9" * 19_000,
]
forge(
    *(
        Capture("loops", f"product_{number}", 3, True, b"", externs={PYTHON: _zeros}, source=text)
        for number, text in enumerate(_texts)
    ),
    Capture("add", "MyAdd", 3, True, b"", externs={PYTHON: _zeros}),
    Capture("add", "MyAdd", 3, True, b"{}", externs={PYTHON: _zeros}),
    Capture("both", "\x1b[2Jboth_func\u202e" + "x" * 100_000, -3, True, b"\0"),
    Capture("graph", "Graph", 10**18, True, b"", base=b"", trace=b""),
    Capture("imported_other", "", 0, True, b"", externs={PYTHON: _zeros, "\n": b""}),
    Capture("loops\0", "product", 3, True, b"", externs={PYTHON: _zeros}),
)
