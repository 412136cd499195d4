"""Let TVM's own tuner look for a schedule of the convolution, and keep the best that it finds.

    python -m pip install xgboost                  # not a dependency of the project
    python benchmarks/metaschedule.py --threads 4

`--cost-model random` needs nothing installed and finds less; with `--strategy replay-trace` no
search comes before the trials. The best of 256 trials is written to
`benchmarks/data/metaschedule_<threads>.json`, or `--output FILE`, with a note of how it was made;
`benchmarks/reference_schedule.py` compares the course's schedule with it. Takes some minutes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BATCH = 4
SHAPES = {"data": (BATCH, 1, 28, 28), "weight": (32, 1, 3, 3)}

MOST_SECONDS = 200
"""How long a trial may take to be built, and to be run: each time in a process that imports TVM."""

FAILED_SECONDS = 1e9
"""TVM notes so many seconds or more for a trial that failed, say because it took too long."""


def load_workload(slug: str = "e2e-conv") -> Any:
    """Return an assignment's `workload.py` as a module."""
    path = ROOT / "assignments" / slug / "workload.py"
    specification = importlib.util.spec_from_file_location("workload", path)
    if specification is None or specification.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def tuning_target(threads: int) -> Any:
    """Return the target of this processor, for so many threads."""
    import tvm

    from grader.inside.common.machine import find_target

    target, _ = find_target("host")
    config = {"kind": "llvm", "mcpu": str(target.attrs["mcpu"]), "num-cores": threads}
    if "mattr" in target.attrs:
        config["mattr"] = [str(each) for each in target.attrs["mattr"]]
    return tvm.target.Target(config)


def leave_out_other_processors() -> None:
    """Spare the tuner instructions of other processors, which nothing here has.

    It imports them all, and TVM's parser takes a minute for those of graphics cards.
    """
    for name in ("arm_cpu", "cuda", "hexagon", "riscv_cpu", "rocm"):
        whole = f"tvm.s_tir.tensor_intrin.{name}"
        sys.modules.setdefault(whole, ModuleType(whole))


def tune(
    module: Any, target: Any, trials: int, cost_model: str, strategy: str
) -> list[tuple[float, Any]]:
    """Return measured seconds and trace of the trials that did not fail, the fastest first."""
    from tvm.s_tir import meta_schedule

    builder = meta_schedule.builder.LocalBuilder(
        timeout_sec=MOST_SECONDS, initializer=leave_out_other_processors
    )
    runner = meta_schedule.runner.LocalRunner(
        timeout_sec=MOST_SECONDS,
        evaluator_config=meta_schedule.runner.EvaluatorConfig(
            number=20, repeat=3, min_repeat_ms=20
        ),
    )
    with tempfile.TemporaryDirectory() as folder:
        database = meta_schedule.tune_tir(
            module,
            target,
            folder,
            max_trials_global=trials,
            num_trials_per_iter=min(64, trials),
            cost_model=cost_model,
            strategy=strategy,
            builder=builder,
            runner=runner,
            seed=7,
        )
        records = [each for each in database.get_all_tuning_records() if each.run_secs]
    found = [(statistics.fmean(map(float, each.run_secs)), each.trace) for each in records]
    measured = [each for each in found if each[0] < FAILED_SECONDS]
    return sorted(measured, key=lambda each: each[0])


def main() -> None:
    """Tune, and write the best trace."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--cost-model", choices=["xgb", "random"], default="xgb")
    parser.add_argument(
        "--strategy", choices=["evolutionary", "replay-trace"], default="evolutionary"
    )
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    # what is measured runs in processes that inherit this
    os.environ |= {"TVM_NUM_THREADS": str(arguments.threads), "TVM_BIND_THREADS": "0"}
    import tvm

    leave_out_other_processors()
    target = tuning_target(arguments.threads)
    module = load_workload().baseline("conv2d", SHAPES)
    start = time.perf_counter()
    found = tune(module, target, arguments.trials, arguments.cost_model, arguments.strategy)
    if not found:
        sys.exit("No trial could be measured. Try again when the machine does less.")
    note = {
        "function": f"conv2d of assignments/e2e-conv/workload.py, batch of {BATCH}, unscheduled",
        "made_by": "benchmarks/metaschedule.py: tvm.s_tir.meta_schedule.tune_tir, seed 7",
        "tvm": tvm.__version__,
        "target": str(target),
        "threads": arguments.threads,
        "trials": len(found),
        "cost_model": arguments.cost_model,
        "tuning_seconds": round(time.perf_counter() - start),
        "its_own_microseconds": round(1e6 * found[0][0], 2),
    }
    trace = json.loads(json.dumps(found[0][1].as_json(), default=lambda value: value.value))
    usual = ROOT / "benchmarks" / "data" / f"metaschedule_{arguments.threads}.json"
    path: Path = arguments.output or usual
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"note": note, "trace": trace}, indent=None) + "\n")
    print(json.dumps(note, indent=2))


if __name__ == "__main__":
    main()
