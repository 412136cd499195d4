"""The machine that a runner works on: its environment, threads, processors and compile targets."""

import os
import threading
from pathlib import Path
from typing import Any

from grader.inside.launcher.linux import hidden_features

SPIN_COUNT = 20_000
"""How often an idle thread of TVM's pool looks for work before it sleeps: about 4 ms. TVM's own
300,000 keeps it awake, and in the way of others, all through the timed blocks of a serial
function."""


def prepare_environment() -> None:
    """Set what TVM reads from the environment, unless it is set. Call it before the import of TVM.

    TVM would pin its threads to the first cores, and with them every thread that is started later.
    """
    defaults = {
        "HOME": str(Path.cwd()),
        "TVM_BIND_THREADS": "0",
        "TVM_NUM_THREADS": str(len(os.sched_getaffinity(0))),
        "TVM_THREAD_POOL_SPIN_COUNT": str(SPIN_COUNT),
        "OMP_NUM_THREADS": "1",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def silence(*descriptors: int) -> None:
    """Connect standard streams to nowhere: what a module prints could be a gigabyte."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def use_threads(count: int) -> int:
    """Let parallel loops use `count` threads from now on; return how many they really get.

    That is never more than TVM_NUM_THREADS was when the first parallel loop ran.
    """
    import tvm

    big_cores = 1
    tvm.get_global_func("runtime.config_threadpool")(big_cores, count)
    return int(tvm.get_global_func("runtime.NumThreads")())


def pin(cpus: tuple[int, ...]) -> None:
    """Bind the calling thread to the first of `cpus`, and each other thread to one of the rest.

    Call it when TVM's pool of threads is there. Threads that may choose sometimes meet on one
    processor, where they are as slow as one, and nothing shows it; a bound one that somebody
    disturbs is seen by its context switches. Raises OSError when a processor is not to be had.
    """
    own, others = cpus[0], cpus[1:] or cpus
    tasks = sorted(int(task.name) for task in Path("/proc/self/task").iterdir())
    tasks.remove(threading.get_native_id())
    for place, task in enumerate(tasks):
        os.sched_setaffinity(task, {others[place % len(others)]})
    os.sched_setaffinity(0, {own})


def find_target(name: str) -> tuple[Any, str]:
    """Return a TVM target and its name for a person. `name` is a kind, or "host" for this CPU."""
    import tvm

    if name != "host":
        return tvm.target.Target(name), name
    cpu = str(tvm.target.codegen.llvm_get_system_cpu())
    config: dict[str, Any] = {"kind": "llvm", "mcpu": cpu}
    hidden = hidden_features(tvm.target.codegen.llvm_get_cpu_features(tvm.target.Target(config)))
    if hidden:
        config["mattr"] = [f"-{feature}" for feature in hidden]
    attributes = f" -mattr={','.join(config['mattr'])}" if hidden else ""
    return tvm.target.Target(config), f"llvm -mcpu={cpu}{attributes}"


def for_one_run(target: Any) -> Any:
    """Return a target for what is built to be run once or twice, for what it computes.

    LLVM optimises at its level 2 in place of 3, TVM's own: the modules of the four references
    took 18.4 s of a processor to build and run and not 22.0 s, and no call took longer
    (`benchmarks/guard_cost.py`). Level 1 builds a little faster still, but makes no vectors of
    loops that are not scheduled: a convolution with a border took 3.7 times as long.
    """
    import tvm

    return tvm.target.Target({"kind": str(target.kind), **target.attrs, "opt-level": 2})
