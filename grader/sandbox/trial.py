"""The trial of a sandbox: a program of ours lists what every process in its box may do.

It looks from where a submission would look: in /proc of the box, and by trying. A box without a
process namespace shows other people's processes or none; there the program's parents are tried,
which are the grader's own.
"""

from __future__ import annotations

import os

import msgspec

from grader.errors import SandboxError
from grader.sandbox.hints import close_memory, hint_for
from grader.sandbox.interface import WITH_NAMESPACES, Command
from grader.sandbox.start import SteppingSandbox

_SECONDS = 60.0
_ANSWER_LIMIT = 64 * 1024  # what a pipe holds: nobody reads until the program has ended

_PROGRAM = """
import ctypes, os, platform, sys
import msgspec
SETS = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
FILES = {"memory": ("mem", os.O_RDWR), "environment": ("environ", os.O_RDONLY),
         "descriptors": ("fd/0", os.O_RDONLY | os.O_NONBLOCK), "root folder": ("root", os.O_RDONLY)}
BOUNDED = ("cpu time", "file size", "data size", "core file size", "processes", "open files",
           "address space")
KEYCTL = {"x86_64": 250, "aarch64": 219}

def status(number):
    lines = open(f"/proc/{number}/status").read().splitlines()
    return dict(line.split(":", 1) for line in lines)

def unbounded(number):
    lines = open(f"/proc/{number}/limits").read().splitlines()
    limits = {line[:26].strip().removeprefix("Max "): line[26:].split()[1] for line in lines[1:]}
    return [name for name in BOUNDED if limits[name] == "unlimited"]

def opens(number, file, flags):
    try:
        os.close(os.open(f"/proc/{number}/{file}", flags))
    except OSError:
        return False
    return True

def exposed(number):
    return [name for name in FILES if opens(number, *FILES[name])]

def facts(number):
    known = status(number)
    return {
        "number": number,
        "name": known["Name"].strip(),
        "capabilities": [name for name in SETS if int(known[name], 16)],
        "gains": known["NoNewPrivs"].strip() != "1",
        "filtered": known["Seccomp"].strip() == "2",
        "unbounded": unbounded(number),
        "exposed": [] if number == os.getpid() else exposed(number),
    }

if sys.argv[1] == "all":
    numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    others = [facts(number) for number in numbers if number != os.getpid()]
    parents = []
else:
    others, parents = [], [os.getppid()]
    try:
        parents.append(int(status(parents[0])["PPid"]))
    except OSError:
        pass
uses_keys = ctypes.CDLL(None).syscall(KEYCTL.get(platform.machine(), -1), 0, -3, 0) >= 0
parents = [(number, exposed(number)) for number in parents]
found = {"own": facts(os.getpid()), "others": others, "parents": parents, "uses_keys": uses_keys}
os.write(3, msgspec.json.encode(found))
"""

_REPORT = "Report this with the output of `grader doctor`: nothing was graded."


class Facts(msgspec.Struct, frozen=True):
    """What one process may do, as another one of its box sees it.

    `capabilities` names the sets that are not empty, `unbounded` the limits that are not set;
    `gains`: an exec may bring it privileges; `filtered`: it has a system call filter; `exposed` is
    what of it the other one could open.
    """

    number: int
    name: str
    capabilities: tuple[str, ...]
    gains: bool
    filtered: bool
    unbounded: tuple[str, ...]
    exposed: tuple[str, ...]


class Found(msgspec.Struct, frozen=True):
    """What a trial tells: of its own process, of the others in its box, and of what it could open
    of its parents by their numbers; and whether it could use keyrings.
    """

    own: Facts
    others: tuple[Facts, ...]
    parents: tuple[tuple[int, tuple[str, ...]], ...]
    uses_keys: bool


def try_out(sandbox: SteppingSandbox) -> None:
    """Run Python in a sandbox and look what the processes there may do.

    Raises SandboxError when it does not run, or when one of them may do what it must not; then it
    names the process and the power.
    """
    found = look(sandbox)
    if sandbox.level == "none":
        return
    # Only who has privileges can give up the bounding set; a user's is of no use to anybody.
    has_bounds = sandbox.level in WITH_NAMESPACES or os.geteuid() == 0
    ignored = () if has_bounds else ("CapBnd",)
    own = found.own
    keys = ["keys of the kernel"] if found.uses_keys else []
    _refuse(own.number, own.name, [*_powers(own, ignored), *keys])
    for other in found.others:
        _refuse(other.number, other.name, _powers(other, ignored), other.exposed)
    for number, exposed in found.parents:
        _refuse(number, "of the grader", [], exposed)


def look(sandbox: SteppingSandbox) -> Found:
    """Return what a program sees in a sandbox. Raises SandboxError when it does not run there."""
    which = "all" if sandbox.level in WITH_NAMESPACES else "parents"
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as answers:
        try:
            process = sandbox.start(
                Command("python", ("-c", _PROGRAM, which), descriptors=(writer,))
            )
        except SandboxError as error:
            raise SandboxError(error.message, hint_for(error.message.english)) from None
        finally:
            os.close(writer)
        try:
            process.wait(_SECONDS)
        finally:
            process.kill()
        answer = answers.read(_ANSWER_LIMIT)
    if not answer:
        lines = process.standard_error.strip().splitlines()
        reason = process.start_failure or (lines[-1] if lines else "it gave no reason")
        raise SandboxError(f"Python does not run in the sandbox: {reason}", hint_for(reason))
    return msgspec.json.decode(answer, type=Found)


def _powers(process: Facts, ignored: tuple[str, ...]) -> list[str]:
    kept = [f"the capabilities {name}" for name in process.capabilities if name not in ignored]
    if process.gains:
        kept.append("what setuid programs give")
    if not process.filtered:
        kept.append("all system calls")
    return kept + [f"any {name}" for name in process.unbounded]


def _refuse(number: int, name: str, powers: list[str], exposed: tuple[str, ...] = ()) -> None:
    words = [*powers, *(f"its {each} open to others" for each in exposed)]
    if words:
        raise SandboxError(
            f"Process {number} ({name}) of a sandbox has what it must not have:"
            f" {', '.join(words)}.",
            _REPORT if powers else close_memory(),
        )
