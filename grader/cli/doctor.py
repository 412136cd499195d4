"""`grader doctor`: what this machine offers for grading."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from grader.assignment import SandboxNeeds
from grader.cli.telling import tell_below, tell_beside
from grader.dialects.table import describe_api
from grader.environment import (
    DISTRIBUTION,
    describe_environment,
    missing_for_grading,
    only_self_check,
)
from grader.inside.launcher.linux import hidden_features
from grader.inside.launcher.memory import can_count
from grader.language import NOTHING, Text, counted, foreign, in_a_row, join, say
from grader.machine.gpus import Gpu, find_gpu
from grader.progress import Progress
from grader.sandbox.choose import LevelFinding, survey
from grader.sandbox.groups import Groups, find_groups
from grader.sandbox.interface import LEVELS, Level


def examine(console: Console, progress: Progress) -> bool:
    """Print what was found, each as soon as it is. Returns whether grading works here."""
    environment = describe_environment()
    tell_beside(console, "Python", environment.python)
    one, many = say("core"), say("cores")
    cores = counted(environment.cores, one, many)
    tell_beside(console, "CPU", in_a_row([environment.cpu, cores]))
    for name, version in environment.packages.items():
        tell_beside(console, "", f"{name} {version}")
    tvm = environment.packages.get("apache-tvm", "")
    tell_beside(console, "TVM", say("version-what", version=tvm, what=describe_api(tvm)))
    progress.stage(say("asking-tvm-for-gpu"))
    tell_beside(console, say("gpu"), describe_gpu(find_gpu()))
    tell_beside(console, say("memory"), describe_counting(find_groups(), sockets=can_count()))
    missing = _print_notebooks(console, progress)
    chosen: Level | None = None
    for finding in survey(progress):
        _print_finding(finding, console)
        if finding.works and chosen is None:
            chosen = finding.level
    if (
        chosen is not None
        and _is_enough(chosen)
        and not missing
        and not _print_trial(chosen, console, progress)
    ):
        chosen = None
    return _print_choice(chosen, console) and not missing


def _print_trial(level: Level, console: Console, progress: Progress) -> bool:
    """Run a small notebook and say what fails. Returns whether a grading gives what it should."""
    progress.stage(say("running-small-notebook"))
    from grader.cli.doctor_trial import describe_compiler, try_grading  # what grades is imported

    tell_below(console, say("compiler"), *describe_compiler())
    faults = list(try_grading(level, progress))
    for each in faults:
        tell_below(console, say("trial"), each.message, each.hint)
    if not faults:
        tell_beside(console, say("trial"), say("small-notebook-run-and-runners-started"))
    return not faults


def _print_notebooks(console: Console, progress: Progress) -> tuple[str, ...]:
    """Say what a student's own kernel cannot import. Returns what grading misses altogether."""
    python = kernel_python()
    if Path(python) != Path(sys.executable):
        tell_beside(console, say("kernel"), say("jupyter-runs", python=python))
    found = list(
        find_faults(
            try_imports(python, progress, helped=False),
            lambda: try_imports(sys.executable, progress, helped=True),
            python=python,
        )
    )
    if not found:
        all_of_them = say("can-import-all-that-courses-notebooks-do")
        tell_beside(console, say("notebooks"), all_of_them)
    for each in found:
        tell_below(console, say("notebooks"), each.message, each.hint)
    missing = missing_for_grading()
    if missing:
        error = only_self_check(missing)
        tell_beside(console, say("grading"), say("self-check-alone-works"))
        tell_below(console, "", error.message, error.hint)
    return missing


def describe_counting(groups: Groups | None, *, sockets: bool) -> Text:
    """Return how it is known what memory a submission uses; `sockets`: theirs can be counted."""
    if groups is not None:
        return say(
            "cgroup-kernel-counts-in-control-groups-version",
            version=groups.version,
            kinds=in_a_row(groups.controllers),
        )
    looked_at = say("watch-submissions-looked-at-ten-times")
    if sockets:
        looked_at = say("watch-submissions-looked-at-ten-times-second")
    mended = say("with-systemd-start-grader-with-systemd-run")
    return join(looked_at, mended)


def describe_gpu(gpu: Gpu | None) -> Text:
    """Return what a GPU is used for here; none is needed."""
    if gpu is None:
        return say("no-gpu-that-tvm-can-use")
    return say("gpu-that-tvm-can-use", name=gpu.name, arch=gpu.arch)


def _print_finding(finding: LevelFinding, console: Console) -> None:
    state = say("does-not-work", level=finding.level)
    if finding.works:
        state = say("works", level=finding.level)
    tell_beside(console, say("sandbox"), state)
    tell_below(console, "", finding.detail, finding.hint)


def _print_choice(chosen: Level | None, console: Console) -> bool:
    """Say which level will be used. Returns whether it is one to grade other people's work in."""
    if chosen is None:
        tell_beside(console, say("used"), say("none-no-submission-can-graded-here"))
        return False
    used = say("level", level=chosen)
    if not _is_enough(chosen):
        used = say(
            "assignments-ask-for-or-stronger-unless-they",
            level=chosen,
            minimum=SandboxNeeds().minimum,
        )
    tell_beside(console, say("used"), used)
    return _is_enough(chosen)


def _is_enough(level: Level) -> bool:
    return LEVELS.index(level) <= LEVELS.index(SandboxNeeds().minimum)


# `grader doctor`: whether what notebooks import can be imported, here and while grading.
#
# A grading helps: its kernels are forked from a process that has made some imports possible. Nobody
# does that for a student's own kernel, which then fails in the cell of all imports.


IMPORTED: Final = {
    "numpy": "numpy",
    "torch": "torch",
    "torchvision": "torchvision",
    "tvm": "apache-tvm",
    "tvm.relax": "apache-tvm",
    "tvm.script": "apache-tvm",
    "tvm.testing": "pytest",
    "matplotlib.pyplot": "matplotlib",
    "torchsummary": "torchsummary",
    "tabulate": "tabulate",
}
"""What notebooks import, in the order of theirs, and the distribution that brings what it needs."""

_PINNED = ("apache-tvm", "apache-tvm-ffi")
"""Distributions of which one version is right: modules are read in its form."""

_SECONDS = 300.0
_HELPED = """
from grader.inside.kernel.preload import detect_what_the_system_shows, provide_torchvision_operators
provide_torchvision_operators(), detect_what_the_system_shows()
"""
_PROGRAM = """
import importlib, json, sys
for name in sys.argv[1:]:
    print(json.dumps([name, None]), flush=True)
    try:
        importlib.import_module(name)
    except BaseException as error:
        lines = str(error).strip().splitlines() or [""]
        said = f"{type(error).__name__}: {lines[0]}"
    else:
        said = ""
    print(json.dumps([name, said]), flush=True)
from tvm.target import Target, codegen
promised = codegen.llvm_get_cpu_features(Target.from_device("cpu"))
print(json.dumps(["Target.from_device", [str(each) for each in promised]]), flush=True)
"""

DETECTION: Final = "Target.from_device"
"""What TVM finds out about the processor, beside the modules. Its fault are names of instructions
that it takes for granted and that the system hides."""

Faults = dict[str, Text]
"""What an import raised, by module; ENDED or UNTRIED where it raised nothing and did not work."""

ENDED: Final = say("interpreter-ended")
UNTRIED: Final = say("not-tried")
"""What comes after the end, or after more than `_SECONDS`, is not tried."""


class MachineFault(msgspec.Struct, frozen=True):
    """Something that fails here, in a grading or in a student's own kernel, and what mends it."""

    message: Text
    hint: Text


def kernel_python() -> str:
    """Return the interpreter of Jupyter's kernel `python3`, this one where none is named."""
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        named = str(KernelSpecManager().get_kernel_spec("python3").argv[0])
    except NoSuchKernel:
        named = ""
    return named if Path(named).is_absolute() and Path(named).exists() else sys.executable


def try_imports(python: str, progress: Progress, *, helped: bool) -> Faults:
    """Import everything in its own process; `helped` as the launcher of kernels would."""
    where = say("importing-as-grading-does") if helped else say("importing-as-notebooks-do")
    progress.stage(where)
    faults = dict.fromkeys(IMPORTED, UNTRIED)
    process = subprocess.Popen(  # noqa: S603 - our own program
        [python, "-c", f"{_HELPED}\n{_PROGRAM}" if helped else _PROGRAM, *IMPORTED],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    limit = threading.Timer(_SECONDS, _end_group, [process])
    with process:
        assert process.stdout is not None
        limit.start()
        try:
            for line in process.stdout:
                if line.startswith(b'["'):  # modules may print, too
                    name, fault = json.loads(line)
                    faults[name] = _fault(fault)
                    done = sum(fault != UNTRIED for fault in faults.values())
                    progress.step(done, len(faults), foreign(name))
        finally:
            limit.cancel()
            _end_group(process)
    return {name: fault for name, fault in faults.items() if fault}


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process that is not buried yet, and all that it has started: they hold its output."""
    os.killpg(process.pid, signal.SIGKILL)


def _fault(told: str | list[str] | None) -> Text:
    """Return what the program told of a module, nothing where it could be imported."""
    if told is None:
        return ENDED
    if isinstance(told, list):
        return foreign(" ".join(hidden_features(told)))
    return foreign(f"{told.rstrip('.')}.") if told else NOTHING  # a sentence comes behind it


def find_faults(
    alone: Faults,
    grading: Callable[[], Faults],
    version_of: Callable[[str], str] = metadata.version,
    python: str = sys.executable,
) -> Iterator[MachineFault]:
    """Yield what fails in a kernel of `python` that nobody helps; `grading` tries it helped."""
    failed = {name: fault for name, fault in alone.items() if fault != UNTRIED}
    if len(failed) < len(alone):
        names = in_a_row(name for name in alone if name not in failed)
        yield MachineFault(say("imports-not-tried", names=names), say("try-again-later"))
    while_grading = grading() if failed else {}
    for name, fault in failed.items():
        yield _finding(name, fault, python, is_helped=name not in while_grading)
    for name, wanted in _demanded().items():
        if name in _PINNED and (found := version_of(name)) != wanted:
            yield MachineFault(
                say("grading-uses-and-reads-only-modules", name=name, found=found, wanted=wanted),
                pip_install(f"{name}=={wanted}"),
            )


def _finding(name: str, fault: Text, python: str, *, is_helped: bool) -> MachineFault:
    """Return what fails in a kernel that nobody helps; `is_helped`: but in no grading."""
    where = say("notebooks-fail-here-because-also-while-they")
    if name == DETECTION:
        if is_helped:
            where = say("grading-here-can-leave-them-out-students")
        return MachineFault(
            say(
                "tvm-compiles-for-instructions-that-this-system",
                fault=fault,
                target=DETECTION,
                where=where,
            ),
            say("in-notebook-run-load-ext-grader-after"),
        )
    if is_helped:
        where = say("grading-here-can-import-students-own-kernel")
    told = say("cannot-imported", name=name, fault=fault, where=where)
    return MachineFault(told, _mend(name, python))


def pip_install(words: str, python: str = sys.executable) -> Text:
    """Return the command that installs packages where `python` finds them."""
    return foreign(f"{shlex.quote(python)} -m pip install {words}")


def _mend(name: str, python: str) -> Text:
    brings = IMPORTED[name]
    if brings == "torchvision":
        # A newer one brings another PyTorch along, and gigabytes of CUDA.
        wanted = _demanded().get(brings)
        which = brings if wanted is None else f"{brings}=={wanted}"
        return say(
            "install-one-that-belongs-this-pytorch",
            command=pip_install(f"--force-reinstall --no-deps {which}", python),
        )
    return pip_install(brings, python)


def _demanded() -> dict[str, str]:
    """Return the versions of the distributions of which the grader takes but one."""
    lines = metadata.requires(DISTRIBUTION) or ()
    parts = (line.partition(";")[0].partition("==") for line in lines)
    return {name.strip(): version.strip() for name, _, version in parts if version}
