"""How many honest schedules may be timed.

    python benchmarks/random_schedules.py [--count 200] [--seed 0] [--json FILE]

Each computation of the course's assignments is scheduled at random, `--count` times, with up to ten
legal primitives: split (also where it does not divide), fuse, reorder, vectorize, parallel, unroll,
cache_read and cache_write, compute_at and its reverse, inline, rfactor, decompose_reduction,
transform_layout, pad_einsum and storage_align. What TVM refuses is left out. Each result is read as
the referee reads a submission.

Printed as JSON, for each computation and in all: `schedules`; how many are `broken` (they certainly
leave a buffer: `rfactor` after a split that does not divide forgets the condition), `refused` and
`decided` (by contents); neither would be timed.
"""

# ruff: noqa: N806

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tvm
from tvm import s_tir, te, topi

from grader.ir.read import read_module

MOST_STEPS = 10
FACTORS = (2, 3, 4, 5, 7, 8, 13, 16, 26)


def _conv2d(shape: tuple[int, ...], weight: tuple[int, ...], dtype: str = "float32") -> Any:
    data = te.placeholder(shape, dtype, "data")
    kernel = te.placeholder(weight, dtype, "weight")
    return [data, kernel, topi.nn.conv2d(data, kernel, 1, 0, 1, out_dtype=dtype)]


def _conv2d_bias_relu(padding: int = 0) -> Any:
    data = te.placeholder((4, 1, 28, 28), "float32", "data")
    kernel = te.placeholder((32, 1, 3, 3), "float32", "weight")
    bias = te.placeholder((1, 32, 1, 1), "float32", "bias")
    sums = topi.nn.conv2d(data, kernel, 1, padding, 1)
    return [data, kernel, bias, topi.nn.relu(topi.add(sums, bias))]


def _matmul(n: int, k: int, m: int, relu: bool = False) -> Any:
    A, B = te.placeholder((n, k), "float32", "A"), te.placeholder((k, m), "float32", "B")
    product = topi.matmul(A, B)
    return [A, B, topi.nn.relu(product) if relu else product]


def _bmm_relu() -> Any:
    A, B = (te.placeholder((16, 128, 128), "float32", name) for name in "AB")
    k = te.reduce_axis((0, 128), "k")
    Y = te.compute((16, 128, 128), lambda n, i, j: te.sum(A[n, i, k] * B[n, k, j], axis=k), "Y")
    return [A, B, te.compute((16, 128, 128), lambda *i: te.max(Y[i], 0.0), "C")]


def _linear() -> Any:
    x, w = te.placeholder((1, 784), "float32", "x"), te.placeholder((128, 784), "float32", "w")
    b = te.placeholder((128,), "float32", "b")
    return [x, w, b, topi.nn.dense(x, w, b)]


def _of(shape: tuple[int, ...], function: Callable[[Any], Any]) -> Any:
    x = te.placeholder(shape, "float32", "x")
    return [x, function(x)]


def _broadcast_add() -> Any:
    A, B = te.placeholder((4, 4), "int64", "A"), te.placeholder((4,), "int64", "B")
    return [A, B, topi.add(A, B)]


def _pool(x: Any) -> Any:
    return topi.nn.pool2d(x, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), "max")


COMPUTATIONS: dict[str, Callable[[], Any]] = {
    "e2e-conv conv2d": lambda: _conv2d((4, 1, 28, 28), (32, 1, 3, 3)),
    "e2e-conv conv2d, bias, relu": _conv2d_bias_relu,
    "e2e-conv conv2d, padded": lambda: _conv2d_bias_relu(1),
    "e2e-conv pool": lambda: _of((4, 32, 26, 26), _pool),
    "e2e-conv flatten": lambda: _of((4, 32, 13, 13), topi.nn.flatten),
    "e2e-conv softmax": lambda: _of((4, 10), topi.nn.softmax),
    "e2e-mlp linear": _linear,
    "e2e-mlp relu": lambda: _of((1, 128), topi.nn.relu),
    "from-torch matmul": lambda: _matmul(128, 64, 32),
    "from-torch relu": lambda: _of((6, 10, 20), topi.nn.relu),
    "from-torch matmul_relu": lambda: _matmul(128, 64, 32, relu=True),
    "tensorir broadcast_add": _broadcast_add,
    "tensorir conv2d": lambda: _conv2d((1, 1, 8, 8), (2, 1, 3, 3), "int64"),
    "tensorir bmm_relu": _bmm_relu,
}


class _Step(NamedTuple):
    """What a primitive works on."""

    schedule: Any
    block: Any
    loops: list[Any]
    draw: random.Random


def _split(step: _Step) -> None:
    step.schedule.split(step.draw.choice(step.loops), [None, step.draw.choice(FACTORS)])


def _fuse(step: _Step) -> None:
    first = step.draw.randrange(len(step.loops) - 1)
    step.schedule.fuse(*step.loops[first : first + step.draw.randint(2, 4)])


def _reorder(step: _Step) -> None:
    step.schedule.reorder(*step.draw.sample(step.loops, step.draw.randint(2, len(step.loops))))


def _transform_layout(step: _Step) -> None:
    """Divide the last axis of a buffer of the function's own, with padding where it must be."""
    factor, side = step.draw.choice(FACTORS), step.draw.choice(["read", "write"])
    block = step.schedule.get(step.block)
    buffer = (block.reads if side == "read" else block.writes)[0].source
    if any(buffer.same_as(each) for each in step.schedule.mod["main"].params):
        return
    step.schedule.transform_layout(
        step.block, (side, 0), lambda *i: [*i[:-1], i[-1] // factor, i[-1] % factor], pad_value=0.0
    )


def _compute_at(step: _Step, *, reverse: bool) -> None:
    loops = step.schedule.get_loops(step.draw.choice(_blocks(step.schedule)))
    apply = step.schedule.reverse_compute_at if reverse else step.schedule.compute_at
    apply(step.block, step.draw.choice(loops))


PRIMITIVES: dict[str, Callable[[_Step], object]] = {
    "split": _split,
    "split again": _split,
    "fuse": _fuse,
    "reorder": _reorder,
    "vectorize": lambda s: s.schedule.vectorize(s.loops[-1]),
    "parallel": lambda s: s.schedule.parallel(s.loops[0]),
    "unroll": lambda s: s.schedule.unroll(s.draw.choice(s.loops)),
    "cache_read": lambda s: s.schedule.cache_read(
        s.block, s.draw.randrange(2), s.draw.choice(["global", "local"])
    ),
    "cache_write": lambda s: s.schedule.cache_write(s.block, 0, s.draw.choice(["global", "local"])),
    "compute_at": lambda s: _compute_at(s, reverse=False),
    "reverse_compute_at": lambda s: _compute_at(s, reverse=True),
    "compute_inline": lambda s: s.schedule.compute_inline(s.block),
    "rfactor": lambda s: s.schedule.rfactor(s.draw.choice(s.loops), 0),
    "decompose_reduction": lambda s: s.schedule.decompose_reduction(
        s.block, s.draw.choice(s.loops)
    ),
    "transform_layout": _transform_layout,
    "pad_einsum": lambda s: s.schedule.pad_einsum(
        s.block, [s.draw.choice([1, 4, 16]) for _ in s.loops]
    ),
    "storage_align": lambda s: s.schedule.storage_align(s.block, 0, -2, 16, s.draw.choice([0, 8])),
}


def _blocks(schedule: Any) -> list[Any]:
    root = schedule.get_sblock("root", func_name="main")
    return list(schedule.get_child_blocks(root))


def schedules(name: str, count: int, seed: int) -> Iterator[tuple[tvm.IRModule, list[str]]]:
    """Return random schedules of a computation, each with the names of its steps."""
    function = te.create_prim_func(COMPUTATIONS[name]())
    module = tvm.IRModule({"main": function.with_attr("global_symbol", "main")})
    for number in range(count):
        draw = random.Random(f"{seed} {name} {number}")
        schedule = s_tir.Schedule(module, error_render_level="none")
        steps = [_apply_one(schedule, draw) for _ in range(draw.randint(2, MOST_STEPS))]
        yield schedule.mod, [each for each in steps if each]


def _apply_one(schedule: Any, draw: random.Random) -> str:
    """Apply a primitive if it is legal, and return its name, or nothing."""
    name = draw.choice(list(PRIMITIVES))
    try:
        block = draw.choice(_blocks(schedule))
        PRIMITIVES[name](_Step(schedule, block, list(schedule.get_loops(block)), draw))
    except (RuntimeError, ValueError, IndexError, TypeError):
        return ""
    return name


def examine(name: str, count: int, seed: int) -> dict[str, Any]:
    """Return what came of the schedules of one computation."""
    broken = refused = decided = 0
    for module, _ in schedules(name, count, seed):
        facts = read_module(tvm.ir.save_json(module).encode())
        function = facts.functions["main"]
        is_broken = bool(facts.findings or facts.faults)
        broken += is_broken
        refused += function.unguarded is not None and not is_broken
        decided += bool(function.decisions)
    return {
        "schedules": count,
        "broken": broken,
        "refused": refused,
        "decided": decided,
    }


def main() -> None:
    """Print the numbers."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = {name: examine(name, options.count, options.seed) for name in COMPUTATIONS}
    numbers = ("schedules", "broken", "refused", "decided")
    found["all"] = {each: sum(one[each] for one in found.values()) for each in numbers}
    text = json.dumps(found, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
