"""How fast the reference schedule of e2e-conv is, beside MetaSchedule, PyTorch and the machine.

    python benchmarks/reference_schedule.py [--rounds 100] [--json FILE]

The convolution of four images is timed with one thread and with one for each processor. TVM and
PyTorch live in processes of their own, which take turns: in one process their threads would wait
for work on the same processors at the same time. A round is a block of calls of each function, in
random order, within some tenths of a second; what counts is the median over rounds of the ratio of
two blocks' times. A block in which the scheduler took a processor away is dropped.

Printed as JSON:

    vs_metaschedule       time of the best schedule in benchmarks/data, which TVM's tuner found (see
                          benchmarks/metaschedule.py), over the reference's; the smaller of the
                          ratios with one thread and with all
    vs_torch_1_thread     PyTorch's time, with the call of it, over the reference's
    vs_torch_all_threads  the same with all threads
    limit_ratio           the reference's time with one thread over the least that this machine
                          needs, by the peak rate and bandwidth that were measured in between
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import resource
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from metaschedule import BATCH, ROOT, SHAPES, load_workload

from grader.inside.common.machine import find_target, prepare_environment

DATA = ROOT / "benchmarks" / "data"
DATA_SHAPE, WEIGHT_SHAPE = SHAPES["data"], SHAPES["weight"]
OUTPUT_SHAPE = (BATCH, 32, 26, 26)
OPERATIONS = 2 * math.prod(OUTPUT_SHAPE) * math.prod(WEIGHT_SHAPE[1:])
TRAFFIC = 4 * sum(map(math.prod, (DATA_SHAPE, WEIGHT_SHAPE, OUTPUT_SHAPE)))
"""Multiplications and additions of a call, and bytes that it has to read or write."""

BLOCK_SECONDS = 0.001
PAUSE_SECONDS = 0.006
"""Between two blocks, so that the threads of the one before have gone to sleep."""

ATTEMPTS = 10
"""How often a disturbed block is taken again before it is dropped."""

LIMITS_EVERY = 10
"""After so many rounds the machine's limits are measured; the highest count."""


class Setting(NamedTuple):
    """How many threads there are, and the processors they may use."""

    threads: int
    processors: frozenset[int]


def arrays() -> tuple[np.ndarray, np.ndarray]:
    """Return the same images and weights in every process, float32."""
    generator = np.random.default_rng(0)
    return tuple(  # type: ignore[return-value]
        generator.standard_normal(shape).astype("float32") for shape in (DATA_SHAPE, WEIGHT_SHAPE)
    )


# --- in the processes that measure ----------------------------------------------------------------


def settle(setting: Setting) -> None:
    """Set threads and processors of this process, before anything starts threads."""
    os.environ |= {"TVM_NUM_THREADS": str(setting.threads), "OMP_NUM_THREADS": str(setting.threads)}
    os.sched_setaffinity(0, setting.processors)
    prepare_environment()


def serve_torch(connection: Connection, setting: Setting) -> None:
    """Answer with blocks of PyTorch's convolution."""
    settle(setting)
    import torch

    torch.set_num_threads(setting.threads)
    data, weight = map(torch.from_numpy, arrays())
    convolution = torch.nn.functional.conv2d

    def seconds(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            convolution(data, weight)
        return (time.perf_counter() - start) / calls

    with torch.inference_mode():
        serve(connection, {"torch": seconds}, convolution(data, weight).numpy())


def serve_tvm(connection: Connection, setting: Setting) -> None:
    """Answer with blocks of TVM's functions, and with the limits of the machine."""
    settle(setting)
    import tvm

    from grader.inside.runner.limits import measure_limits

    target, _ = find_target("host")
    tensors = [tvm.runtime.tensor(array) for array in (*arrays(), np.zeros(OUTPUT_SHAPE, "f4"))]
    functions: dict[str, Callable[[int], Any]] = {}
    for name, module in schedules(setting.threads).items():
        compiled = tvm.compile(module["main"].with_attr("global_symbol", "main"), target).mod
        compiled["main"](*tensors)

        def seconds(calls: int, compiled: Any = compiled) -> float:
            evaluator = compiled.time_evaluator("main", tvm.cpu(), number=calls, repeat=1)
            return float(evaluator(*tensors).mean)

        functions[name] = seconds

    def machine_limits(_: int) -> tuple[float, float]:
        limits = measure_limits(target, 1, time.perf_counter)
        return limits.flops, limits.bytes

    functions["limits"] = machine_limits
    serve(connection, functions, tensors[-1].numpy())


def schedules(threads: int) -> dict[str, Any]:
    """Return the modules by name: unscheduled, those of MetaSchedule, the reference.

    The reference comes last: its output is left to be compared with PyTorch's.
    """
    import tvm

    workload = load_workload()
    found = {"unscheduled": workload.baseline("conv2d", SHAPES)}
    for path in sorted(DATA.glob("metaschedule_*.json")):
        schedule = tvm.s_tir.Schedule(found["unscheduled"])
        trace = json.loads(path.read_text())["trace"]
        tvm.s_tir.Trace.apply_json_to_schedule(trace, schedule)
        found[path.stem] = schedule.mod
    return {**found, "reference": workload.reference("conv2d", SHAPES, threads)}


def serve(
    connection: Connection, functions: dict[str, Callable[[int], Any]], output: np.ndarray
) -> None:
    """Send the functions' names and an output; then, for each request, what a function returns."""
    connection.send((list(functions), output))
    while (request := connection.recv()) is not None:
        name, calls = request
        before = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
        result = functions[name](calls)
        switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw - before
        connection.send((result, switches > 0))


# --- in the process that compares -----------------------------------------------------------------


class Bench:
    """The two processes of one setting, while they take turns."""

    def __init__(self, setting: Setting) -> None:
        context = multiprocessing.get_context("spawn")
        self._ends: dict[str, Connection] = {}
        self._processes = []
        outputs = []
        for serve_one in (serve_torch, serve_tvm):
            here, there = context.Pipe()
            process = context.Process(target=serve_one, args=(there, setting), daemon=True)
            process.start()
            there.close()
            names, output = here.recv()
            self._ends |= dict.fromkeys(names, here)
            self._processes.append(process)
            outputs.append(output)
        np.testing.assert_allclose(outputs[1], outputs[0], rtol=1e-4, atol=1e-4)
        self.names = [name for name in self._ends if name != "limits"]
        self._calls = {name: self._count(name) for name in self.names}

    def close(self) -> None:
        """End the processes."""
        for end in set(self._ends.values()):
            end.send(None)
        for process in self._processes:
            process.join()

    def limits(self) -> tuple[float, float]:
        """Return the machine's floating-point operations and bytes per second, for one thread."""
        flops, bandwidth = self._ask("limits", 0)[0]
        return flops, bandwidth

    def round(self) -> dict[str, float]:
        """Take a block of each function, in random order; return seconds of a call."""
        order = random.sample(self.names, len(self.names))
        return {name: self._quiet_block(name) for name in order}

    def _quiet_block(self, name: str) -> float:
        """Return seconds of a call, NaN if every block was disturbed."""
        for _ in range(ATTEMPTS):
            time.sleep(PAUSE_SECONDS)
            self._ask(name, 1)
            seconds, disturbed = self._ask(name, self._calls[name])
            if not disturbed:
                return float(seconds)
        return math.nan

    def _count(self, name: str) -> int:
        seconds = min(float(self._ask(name, 20)[0]) for _ in range(5))
        return max(1, math.ceil(BLOCK_SECONDS / seconds))

    def _ask(self, name: str, calls: int) -> Any:
        self._ends[name].send((name, calls))
        return self._ends[name].recv()


class Measured(NamedTuple):
    """Seconds of each function by round, NaN where it was disturbed; the limits of a thread."""

    seconds: dict[str, np.ndarray]
    flops: float
    bandwidth: float


def measure(setting: Setting, rounds: int, budget_seconds: float) -> Measured:
    """Take so many rounds without a disturbance, or until the budget is spent."""
    bench = Bench(setting)
    found: list[dict[str, float]] = []
    limits = [bench.limits()]
    quiet = 0
    end = time.monotonic() + budget_seconds
    while quiet < rounds and time.monotonic() < end:
        found.append(bench.round())
        quiet += not any(map(math.isnan, found[-1].values()))
        if len(found) % LIMITS_EVERY == 0:
            limits.append(bench.limits())
    bench.close()
    seconds = {name: np.array([each[name] for each in found]) for name in bench.names}
    flops, bandwidth = (max(each) for each in zip(*limits, strict=True))
    return Measured(seconds, flops, bandwidth)


def ratio(measured: Measured, name: str) -> np.ndarray:
    """Return how many times as long a function took as the reference, by round.

    Rounds in which one of the two was disturbed are left out, which may be all.
    """
    ratios: np.ndarray = measured.seconds[name] / measured.seconds["reference"]
    known: np.ndarray = ratios[np.isfinite(ratios)]
    return known


def quartiles(values: np.ndarray) -> list[float]:
    """Return the quartiles of what is a number; NaN where nothing is."""
    known = values[np.isfinite(values)]
    return list(np.percentile(known, [25, 50, 75])) if known.size else [math.nan] * 3


def least_seconds(measured: Measured) -> float:
    """Return what one thread needs at least: for its arithmetic, or for its memory."""
    return max(OPERATIONS / measured.flops, TRAFFIC / measured.bandwidth)


def report(setting: Setting, measured: Measured) -> dict[str, Any]:
    """Print medians and quartiles; return them."""
    print(f"{setting.threads} thread(s), {measured.seconds['reference'].size} rounds")
    figures: dict[str, Any] = {}
    for name, seconds in measured.seconds.items():
        ratios = ratio(measured, name)
        low, median, high = quartiles(1e6 * seconds)
        r_low, r_median, r_high = quartiles(ratios)
        print(
            f"  {name:16} {median:7.2f} us [{low:.2f}, {high:.2f}]"
            f"   {r_median:6.2f} [{r_low:.2f}, {r_high:.2f}] times the reference,"
            f" {ratios.size} rounds undisturbed"
        )
        figures[name] = {
            "us": [low, median, high],
            "ratio": [r_low, r_median, r_high],
            "undisturbed": ratios.size,
        }
    return figures


def median_ratio(measured: Measured, prefix: str) -> float:
    """Return the smallest median ratio of the functions whose name begins so, or NaN."""
    names = [name for name in measured.seconds if name.startswith(prefix)]
    return float(np.min([quartiles(ratio(measured, name))[1] for name in names]))


def main() -> None:
    """Measure with one thread and with all; print and write the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--budget-seconds", type=float, default=120, help="for each thread count")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    allowed = frozenset(os.sched_getaffinity(0))
    settings = (Setting(1, frozenset({max(allowed)})), Setting(len(allowed), allowed))
    one, every = (measure(each, arguments.rounds, arguments.budget_seconds) for each in settings)
    figures = {str(s.threads): report(s, m) for s, m in zip(settings, (one, every), strict=True)}
    least = least_seconds(one)
    tuned = [median_ratio(each, "metaschedule") for each in (one, every)]
    print(f"MetaSchedule: {tuned[0]:.2f} with one thread, {tuned[1]:.2f} with {len(allowed)}")
    print(
        f"limit of one thread: {1e6 * least:.2f} us, by {one.flops / 1e9:.0f} GFLOP/s"
        f" ({1e6 * OPERATIONS / one.flops:.2f} us) and {one.bandwidth / 1e9:.0f} GB/s"
        f" ({1e6 * TRAFFIC / one.bandwidth:.2f} us)"
    )
    result = {
        "vs_metaschedule": min(tuned),
        "vs_torch_1_thread": median_ratio(one, "torch"),
        "vs_torch_all_threads": median_ratio(every, "torch"),
        "limit_ratio": quartiles(one.seconds["reference"])[1] / least,
    }
    for name, value in result.items():
        print(f"{name:22} {value:.2f}")
    if arguments.json is not None:
        limits = {"flops": one.flops, "bytes": one.bandwidth, "least_us": 1e6 * least}
        known = {name: None if math.isnan(value) else value for name, value in result.items()}
        text = json.dumps({**known, "limits": limits, "threads": figures}, indent=2)
        arguments.json.write_text(text + "\n")
    if any(map(math.isnan, result.values())):
        raise SystemExit("nan: every round was disturbed, something else is running here.")


if __name__ == "__main__":
    main()
