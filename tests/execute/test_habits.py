"""What right notebooks do because somebody sits before them, or because of where they began."""

from __future__ import annotations

import pytest

from grader.execute.result import Execution
from grader.sandbox.interface import Sandbox
from tests.execute.conftest import run_cells
from tests.execute.test_notebook import MODEL

FILES = {
    "given.pkl": b"given",
    "data/FashionMNIST/raw/t10k-labels-idx1-ubyte": b"labels",
}

CELLS = {
    "colab": "import google.colab\nfrom google.colab import drive, files, output, userdata\n"
    "drive.mount('/content/drive', force_remount=True)\noutput.clear()\nuserdata.get('key')\n"
    "files.download('x')\nprint(google.colab.files.upload()['given.pkl'])",
    "kaggle": "from kaggle_secrets import UserSecretsClient\n"
    "print([UserSecretsClient().get_secret('key')])",
    "bars": "from tqdm import tqdm\nfrom tqdm.auto import trange\nimport tqdm.notebook\n"
    "bar = tqdm.notebook.tqdm(total=3)\nbar.update(2)\nbar.set_postfix(loss=1)\nbar.close()\n"
    "with tqdm.tqdm([1, 2], desc='x') as both:\n    print(list(both), bar.n, list(trange(2)))",
    "read": "import os, pathlib\n"
    "print(open('../data/given.pkl').read(), pathlib.Path('/home/prof/given.pkl').read_bytes())\n"
    "print(open('/kaggle/input/course/given.pkl').read(), os.path.isfile('parameters/given.pkl'))\n"
    "print(os.path.exists('/content/nothing'), os.path.exists('../data/nothing.pkl'))",
    "torchvision": "folder = '../data/FashionMNIST/raw'\n"
    "print(os.path.exists(f'{folder}/t10k-labels-idx1-ubyte'), os.path.exists(folder))",
    "written": "os.makedirs('/content/results', exist_ok=True)\n"
    "open('/content/results/x.txt', 'w').write('own')\n"
    "print(open('results/x.txt').read(), os.listdir('/content/drive/MyDrive/results'))",
    "forbidden": "open('/proc/x.txt', 'w')",
    "entered": "os.chdir('/content/drive/MyDrive/homework')\nprint(open('given.pkl').read())",
    "stays": "os.chdir('/nowhere')",
    "bound": "reader = open\nimport io, pickle\n"
    "print(pickle.loads(pickle.dumps(io.open)) is io.open,"
    " pickle.loads(pickle.dumps(os.stat)) is os.stat)",
    "widget": "%matplotlib widget\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()",
    "asked": "import getpass\nprint([input('name?'), getpass.getpass()])",
    "asked for ever": "while not input():\n    pass",
    "restarted": "before = 1\nget_ipython().kernel.do_shutdown(restart=True)",
    "after": "print(before)",
    "imports": "import tensorflow\nimport json\nfrom os import nothing\nimport string",
    "imported": "print(json.dumps(1), string.digits)",
    "amid": "early = 1\nimport pandas\nlate = early + 1\nlate.undefined\nnever = 1",
    "after them": "print(late, 'never' in globals())",
    "model": MODEL,
}
NUMBERS = {name: number for number, name in enumerate(CELLS, start=1)}


@pytest.fixture(scope="module")
def execution(sandbox: Sandbox) -> Execution:
    """One notebook with a cell for each habit."""
    return run_cells(sandbox, *CELLS.values(), files=FILES)


def printed(execution: Execution, name: str) -> str:
    outputs = execution.notebook.cells[NUMBERS[name] - 1].outputs
    return "".join(output.text for output in outputs if output.output_type == "stream")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("colab", "Mounted at /content/drive\nb'given'\n"),
        ("kaggle", "['']\n"),
        ("bars", "[1, 2] 2 [0, 1]\n"),
        ("read", "given b'given'\ngiven True\nFalse False\n"),
        ("torchvision", "True False\n"),
        ("written", "own ['x.txt']\n"),
        ("entered", "given\n"),
        ("bound", "True True\n"),
        ("asked", "name?\n\n['', '']\n"),
        ("after", "1\n"),
        ("imported", "1 0123456789\n"),
        ("after them", "2 False\n"),
    ],
)
def test_it_is_as_where_the_notebook_was_written(
    execution: Execution, name: str, expected: str
) -> None:
    assert expected == printed(execution, name)


def test_only_what_cannot_be_is_a_problem_and_the_first_error_is_told(execution: Execution) -> None:
    names = {number: name for name, number in NUMBERS.items()}
    assert {names[each.cell]: each.line for each in execution.problems} == {
        "forbidden": 1,
        "stays": 1,
        "asked for ever": 1,
        "imports": 1,
        "amid": 2,
    }
    assert execution.executed == len(CELLS) - 5
    assert 1 == len(execution.captures)


def test_the_hint_says_where_the_files_are(execution: Execution) -> None:
    hints = {each.cell: each.hint for each in execution.problems}
    assert "`given.pkl`, `data/FashionMNIST`" in hints[NUMBERS["stays"]].english


def test_a_drawing_is_in_the_notebook(execution: Execution) -> None:
    outputs = execution.notebook.cells[NUMBERS["widget"] - 1].outputs
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_the_notes_say_what_was_done(execution: Execution) -> None:
    first, second, third = execution.notes
    assert (
        f"asked for input (code cells {NUMBERS['asked']}, {NUMBERS['asked for ever']})"
        in first.english
    )
    assert f"asked to restart its kernel (code cell {NUMBERS['restarted']})" in second.english
    assert f"asked for a window or widget (code cell {NUMBERS['widget']})" in third.english
