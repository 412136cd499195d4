"""What is read off the text of a Python function."""

from __future__ import annotations

from textwrap import dedent

import pytest

from grader.checks.kinds.python import TEXT_LIMIT, PythonFacts, read_python

MLP = """\
def linear(X, W, B, Z):
    Y = np.empty((1, Z.shape[1]), dtype="float32")
    for i in range(1):
        for j in range(Z.shape[1]):
            Y[i, j] = 0
            for k in range(X.shape[1]):
                Y[i, j] = Y[i, j] + X[i, k] * W[j, k]
    for i in range(1):
        for j in range(Z.shape[1]):
            Z[i, j] = Y[i, j] + B[j]


def relu(X, Y):
    for i in range(1):
        for j in range(128):
            Y[i, j] = np.maximum(X[i, j], 0)


def mlp(data, w0, b0, w1, b1):
    lv0 = np.empty((1, 128), dtype="float32")
    linear(data, w0, b0, lv0)
    lv1 = np.empty((1, 128), dtype="float32")
    relu(lv0, lv1)
    out = np.empty((1, 10), dtype="float32")
    linear(lv1, w1, b1, out)
    return out
"""


def read(body: str, entry: str = "f") -> PythonFacts:
    facts = read_python(dedent(body), entry)
    assert facts is not None
    return facts


def body(line: str) -> PythonFacts:
    """The facts of a function of one line, called with the arrays x, w and b."""
    return read(f"def f(x, w, b):\n    {line}\n")


class TestLoops:
    def test_loops_over_elements_are_counted_where_they_are_deepest(self):
        assert PythonFacts(loops=2, allocates=True, whole=()) == read(MLP, "mlp")

    @pytest.mark.parametrize(
        ("loops", "text"),
        [
            (0, "pass"),
            (0, "for i in range(1): g(x[i])"),
            (0, "for i in range(0, 1): g(x[i])"),
            (1, "for i in range(2): g(x[i])"),
            (1, "for row in x: g(row)"),
            (1, "for value in [x[i] for i in range(9)]: g(value)"),
            (1, "while g(): pass"),
            (2, "return [[x[i, j] for j in range(9)] for i in range(9)]"),
            (2, "return [x[i, j] for j in range(9) for i in range(9)]"),
            (1, "return [x[i, j] for j in range(9) for i in range(1)]"),
            (2, "for i, j, k in np.ndindex(1, 128, 784): y[i, j] += x[i, k]"),
            (2, "for i, j in np.ndindex(y.shape): y[i, j] = x[i, j]"),
            (1, "for i, j in np.ndindex((1, 128)): y[i, j] = x[i, j]"),
            (2, "for i, j in itertools.product(range(4), range(5)): y[i, j] = x[i, j]"),
        ],
    )
    def test_each_way_of_looping(self, loops, text):
        assert loops == body(text).loops

    def test_a_loop_in_a_function_that_is_called_in_a_loop_is_nested(self):
        text = """
        def g(x, i):
            for j in range(9):
                h(x, i, j)
        def f(x):
            for i in range(9):
                g(x, i)
        """
        assert 2 == read(text).loops

    def test_a_function_that_calls_itself_has_an_end(self):
        text = """
        def f(x):
            for i in range(9):
                g(x)
        def g(x):
            f(x)
        """
        assert 1 == read(text).loops

    def test_many_calls_of_many_functions_are_read_at_once(self):
        calls = "".join(f"def g{i}():\n    g{i + 1}(); g{i + 1}()\n" for i in range(200))
        assert 0 == read(calls, "g0").loops


class TestAllocation:
    @pytest.mark.parametrize("name", ["np.empty", "numpy.zeros", "full", "np.empty_like"])
    def test_an_array_that_is_made_in_a_size_is_an_allocation(self, name):
        assert body(f"out = {name}((1, 10))").allocates

    def test_a_list_is_none(self):
        assert not body("out = [0.0] * 10").allocates


WHOLE = [
    "return x @ w.T",
    "x @= w",
    "return np.dot(x, w)",
    "return x.dot(w)",
    "return numpy.einsum('ik,jk->ij', x, w)",
    "return matmul(x, w)",
    "return np.linalg.multi_dot([x, w])",
    "return torch.mm(x, w)",
    "return torch.add(g(x), g(w))",
    "return torch.nn.functional.linear(x, w, b)",
    "return x + b",
    "x += b",
    "y[:] += b[0]",
    "return np.maximum(x, 0)",
    "return np.add(w[0], b, out=b)",
    "return np.sum(x[0, :] * w[0, :])",
    "return (x[0] * w[1, 2]).sum()",
    "return sum(x[0] * w[0])",
    "y = x[0, :] * 2",
    "return w.T + 1",
    "return -x",
    "x[x < 0] = 0",
    "return np.where(g(x < 0), 0, 1)",
    "y = np.zeros(10); return y + 1",
    "z = x[0] * w[0]; return x[0, 0]",
    "return x.sum()",
    "return x.clip(0, 6)",
    "row = x[0]; col = w[0]; return np.add.reduce(row * col)",
    "row = x[0]; col = w[0]; return np.nansum(row * col)",
]


class TestWholeArrays:
    def test_an_operation_on_a_whole_array_is_seen(self, subtests: pytest.Subtests) -> None:
        for text in WHOLE:
            with subtests.test(text):
                assert body(text).whole

    @pytest.mark.parametrize(
        "text",
        [
            "y[i, j] = y[i, j] + x[i, k] * w[j, k]",
            "y[i][j] += x[i][k] * w[j][k]",
            "y[i, j] = max(x[i, j] + b[j], 0)",
            "y[i, j] = np.maximum(x[i, j], 0.0)",
            "y[i, j] = np.maximum(x[i, j] + b[j], 0.0)",
            "y[i, j] = np.exp(x[i, j] - b[i]) / np.sqrt(b[j] + 1e-5)",
            "y[i, j] = np.clip(x[i, j] + b[j], 0, 6)",
            "s = np.float32(x[i, 0] * w[0, j])",
            "y[i, j] = x[i, j] if x[i, j] > 0 else 0",
            "s = 0.0; s += x[0, k] * w[j, k]",
            "s = sum(x[0, k] * w[j, k] for k in range(9))",
            "s = np.sum([x[0, k] * w[j, k] for k in range(9)])",
            "y = np.empty((x.shape[0], w.shape[0]), dtype=x.dtype)",
            "y = np.empty(x.shape[:1] + w.shape[:1])",
            "y = np.zeros_like(b)",
            "y[:] = 0",
            "y = np.array(x); z = y.reshape(10); return z.copy()",
            "if x is None or b in (1, 2): pass",
            "print('shape', x.shape == w.shape)",
            "rows = []; rows = rows + [x[0, 0]]; print(rows[0])",
        ],
    )
    def test_work_on_elements_is_none(self, text):
        assert () == body(text).whole

    def test_a_function_of_the_text_may_have_any_name(self):
        text = """
        def matmul(x, w, y):
            for i in range(4):
                y[i] = x[i] * w[i]
        def f(x, w, y):
            matmul(x, w, y)
        """
        assert () == read(text).whole

    def test_an_argument_with_a_default_may_be_a_number(self):
        assert () == read("def f(x, n=4):\n    return g(n + 1)\n").whole

    def test_what_is_not_certain_is_not_held_against_it(self):
        assert () == read("def g(p, q):\n    return p + q\n").whole

    def test_an_operation_is_quoted_on_one_line_and_cut(self):
        whole = body("return x @ (w.T +" + " 1 +" * 40 + "\n 2)").whole
        assert whole[0].startswith("x @ (w.T + 1")
        assert len(whole[0]) < 80

    def test_few_of_many_are_told(self):
        lines = "; ".join(f"y{i} = x @ w[{i}]" for i in range(20))
        assert 3 == len(body(lines).whole)

    def test_one_that_hides_behind_an_inner_function_of_its_name_is_seen(self):
        facts = read("""
            def f(x, w):
                def f(n):
                    for i in range(n):
                        for j in range(n):
                            n = n + i * j
                return np.matmul(x, w)
        """)
        assert "np.matmul(x, w)" in facts.whole

    def test_no_more_are_quoted_than_may_be(self):
        assert ("x@w", "w@x") == body("; ".join(["x@w"] * 15 + ["w@x"])).whole
        assert ("x@w",) == body("; ".join(["x@w"] * 16 + ["w@x"])).whole


class TestForeignText:
    def test_functions_in_functions_that_take_long_to_walk_through_are_not_read(self):
        heads = "".join(" " * deep + f"def f{deep}():\n" for deep in range(80))
        assert None is read_python(heads + " " * 80 + ";".join(["a"] * 7000), "f0")

    """A text is anything that a hostile notebook sends."""

    @pytest.mark.parametrize(
        "text",
        [
            "def f(:",
            "x = 1" + "1" * 6000,
            "\0",
            "-" * TEXT_LIMIT,
            "1+" * (TEXT_LIMIT // 2) + "1",
            "(" * TEXT_LIMIT,
            "#" * (TEXT_LIMIT + 1),
            "".join(f"def g{i}(): g{i + 1}()\n" for i in range(1000)),
        ],
        ids=range(8),
    )
    def test_what_cannot_be_read_is_none_and_no_crash(self, text):
        assert read_python(text, "f") is None

    @pytest.mark.parametrize(
        "text", ["not " * (TEXT_LIMIT // 4 - 1) + "1", "x" + "[0]" * (TEXT_LIMIT // 3 - 1)]
    )
    def test_of_what_is_too_deep_for_the_parser_nothing_is_said(self, text):
        """Where the parser of a later Python goes as deep, there is no loop in it."""
        facts = read_python(text, "f")
        assert facts is None or not facts.loops

    @pytest.mark.parametrize(
        "text", ["if x: pass\n" + "elif x: pass\n" * 1600, "a;" * 9999, "\ud800 = 1", ""]
    )
    def test_other_odd_texts_show_no_loops(self, text):
        facts = read_python(text, "f")
        assert facts is None or 0 == facts.loops

    def test_an_unknown_escape_prints_no_warning(self):
        assert 0 == body("return '\\d' r'\\'' '\\\\'").loops
