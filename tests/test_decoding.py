"""What is decoded in threads: msgspec must have described a type before two of them meet it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Three threads decode each of 400 new types at the same moment. Without `prepared`, msgspec 0.22
# ends the process by a segmentation fault, or raises TypeError, within the first hundreds.
AT_ONCE = '''
import sys, threading, types, msgspec
from grader.decoding import prepared
sys.setswitchinterval(1e-6)
SOURCE = """
import msgspec
class Inner(msgspec.Struct):
    text: str = ""
    names: tuple[str, ...] = ()
    counts: dict[str, int] = {}
class Outer(msgspec.Struct):
    several: tuple[Inner, ...] = ()
    one: Inner | None = None
    named: dict[str, Inner] = {}
"""
VALUE = {"several": [{"text": "a"}], "one": {"names": ["b"]}, "named": {"k": {"counts": {"c": 1}}}}
def decode(kind, barrier):
    barrier.wait()
    try:
        msgspec.convert(VALUE, prepared(kind))
    except Exception as error:
        print(repr(error))
for number in range(400):
    module = types.ModuleType(f"module_{number}")
    sys.modules[module.__name__] = module
    exec(SOURCE, module.__dict__)
    barrier = threading.Barrier(3)
    threads = [threading.Thread(target=decode, args=(module.Outer, barrier)) for _ in range(3)]
    for each in threads: each.start()
    for each in threads: each.join()
'''


def test_threads_may_decode_a_type_that_none_has_decoded_before() -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (0, "", "") == (done.returncode, done.stdout, done.stderr)


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    """Yield the calls that have msgspec decode or convert something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            last = name.rpartition(".")[2]
            if name.startswith("msgspec.") and last in ("decode", "convert", "Decoder"):
                yield node


def kinds(call: ast.Call) -> list[ast.expr]:
    """Return what the call is told to decode, where it is told."""
    told = [each.value for each in call.keywords if each.arg == "type"]
    place = 0 if ast.unparse(call.func).endswith("Decoder") else 1
    return told or call.args[place : place + 1]


def test_every_type_is_prepared_where_it_is_decoded() -> None:
    told, loose = 0, []
    for path in sorted((ROOT / "grader").rglob("*.py")):
        if path == ROOT / "grader" / "decoding.py":
            continue
        for call in calls(ast.parse(path.read_text())):
            for kind in map(ast.unparse, kinds(call)):
                told += 1
                if not kind.startswith("prepared(") and kind not in ("msgspec.Raw", "kind"):
                    loose.append(f"{path.relative_to(ROOT)}:{call.lineno}: {kind}")
    assert [] == loose
    assert told > 40
