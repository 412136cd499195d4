"""The choice of a sandbox: what works here is found by trying it once, strongest first.

The trial looks from where a submission would look: in /proc of the box, and by trying. A box
without a process namespace shows other people's processes or none; there the program's parents are
tried, which are the grader's own.
"""

import os
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from grader.decoding import prepared
from grader.errors import SandboxError
from grader.inside.launcher import linux
from grader.language import NOTHING, Text, below, foreign, in_a_row, join, say
from grader.machine.limits import demand_limits
from grader.machine.packages import Finder, find_manager
from grader.progress import Progress
from grader.sandbox.bubblewrap import find_bubblewrap
from grader.sandbox.container import find_container
from grader.sandbox.folder import FolderBoxes
from grader.sandbox.groups import find_groups
from grader.sandbox.hints import close_memory, hint_for, obstacle_in, words_of
from grader.sandbox.interface import LEVELS, WITH_NAMESPACES, Command, Level
from grader.sandbox.layout import covers
from grader.sandbox.process import Boxes
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

_REPORT = say("report-this-with-output-grader-doctor-nothing")


class ProcessFacts(msgspec.Struct, frozen=True):
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


class TrialFindings(msgspec.Struct, frozen=True):
    """What a trial tells: of its own process, of the others in its box, and of what it could open
    of its parents by their numbers; and whether it could use keyrings.
    """

    own: ProcessFacts
    others: tuple[ProcessFacts, ...]
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
    keys = [say("keys-kernel")] if found.uses_keys else []
    _refuse(own.number, own.name, [*_powers(own, ignored), *keys])
    for other in found.others:
        _refuse(other.number, other.name, _powers(other, ignored), other.exposed)
    for number, exposed in found.parents:
        _refuse(number, say("grader"), [], exposed)


def look(sandbox: SteppingSandbox) -> TrialFindings:
    """Return what a program sees in a sandbox. Raises SandboxError when it does not run there."""
    which = "all" if sandbox.level in WITH_NAMESPACES else "parents"
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb", buffering=0) as answers:
        try:
            process = sandbox.start(
                Command("python", ("-c", _PROGRAM, which), descriptors=(writer,))
            )
        finally:
            os.close(writer)
        try:
            process.wait(_SECONDS)
        finally:
            process.kill()
        answer = answers.read(_ANSWER_LIMIT)
    if not answer:
        lines = process.standard_error.strip().splitlines()
        reason = process.start_failure or (lines[-1] if lines else "")
        raise SandboxError(
            say("python-does-not-run-in-sandbox", reason=words_of(reason)),
            hint_for(obstacle_in(reason)),
        )
    return msgspec.json.decode(answer, type=prepared(TrialFindings))


def _powers(process: ProcessFacts, ignored: tuple[str, ...]) -> list[Text]:
    kept = [say("capabilities", name=name) for name in process.capabilities if name not in ignored]
    if process.gains:
        kept.append(say("powers-setuid-programs"))
    if not process.filtered:
        kept.append(say("all-system-calls"))
    return kept + [say("any", name=name) for name in process.unbounded]


def _refuse(
    number: int, name: str | Text, powers: list[Text], exposed: tuple[str, ...] = ()
) -> None:
    words = [*powers, *(say("open-others", name=each) for each in exposed)]
    if words:
        raise SandboxError(
            say(
                "process-in-sandbox-has-what-must", number=number, name=name, names=in_a_row(words)
            ),
            _REPORT if powers else close_memory(),
        )


class LevelFinding(msgspec.Struct, frozen=True):
    """Whether a level works here: what it is, or why it does not work and what mends that."""

    level: Level
    works: bool
    detail: Text
    hint: Text = NOTHING


def choose_sandbox(
    demanded: Level | None = None,
    minimum: Level = "basic",
    find: Finder = shutil.which,
    protected: Collection[Path] = (),
    imports: Sequence[str] = (),
) -> SteppingSandbox:
    """Return the strongest sandbox that works here, or the one of the level `demanded`.

    To be closed by the caller. From the level "basic" on, submissions cannot read the files and
    folders `protected`, wherever they lie. `imports` are modules that their notebooks import: they
    are there when a kernel starts. Raises SandboxError when there is none, or none as strong as
    `minimum`; it tells why, and what mends it. The same where the shell's limits leave too little.
    """
    demand_limits()
    if demanded is not None and _is_weaker(demanded, minimum):
        raise SandboxError(
            say(
                "assignment-requires-sandbox-level-or-stronger-weaker",
                minimum=str(minimum),
                demanded=str(demanded),
            ),
            say("leave-out-sandbox-or-change-minimum-under"),
        )
    if demanded not in ("minimal", "none"):
        covers(protected)  # a weaker level must not be the way out of what no level can keep
    reasons: dict[Level, SandboxError] = {}
    for level in LEVELS if demanded is None else (demanded,):
        if _is_weaker(level, minimum):
            break
        try:
            return _open(level, find, protected, imports)
        except SandboxError as error:
            reasons[level] = error
    raise _refusal(reasons, minimum if demanded is None else demanded)


def survey(progress: Progress, find: Finder = shutil.which) -> Iterator[LevelFinding]:
    """Try every level, strongest first: a minute each at most."""
    progress.stage(say("trying-isolation-levels"))
    for number, level in enumerate(LEVELS):
        progress.step(number, len(LEVELS), foreign(level))
        yield _find_out(level, find)


def _find_out(level: Level, find: Finder) -> LevelFinding:
    try:
        demand_limits()
        with _open(level, find, ()) as sandbox:
            return LevelFinding(level, True, sandbox.detail)
    except SandboxError as error:
        return LevelFinding(level, False, error.message, error.hint)


def _refusal(reasons: dict[Level, SandboxError], wanted: Level) -> SandboxError:
    """Return the error that says why not even the weakest permitted level works."""
    (_, first), *others = reasons.items()
    more = [
        join(say("level-does-not-work-either", level=level), each.message) for level, each in others
    ]
    hint = first.hint
    if others and find_manager() is None:  # then the first names no command
        hint = below(hint, join(say("or"), others[-1][1].hint))
    none = say("there-no-sandbox-level", wanted=wanted)
    return SandboxError(join(none, first.message, *more), hint)


def _is_weaker(level: Level, other: Level) -> bool:
    return LEVELS.index(level) > LEVELS.index(other)


def _open(
    level: Level, find: Finder, protected: Collection[Path], imports: Sequence[str] = ()
) -> SteppingSandbox:
    sandbox = SteppingSandbox(_boxes(level, find, protected), find_groups(), imports)
    try:
        try_out(sandbox)
    except BaseException:
        sandbox.close()
        raise
    return sandbox


def _boxes(level: Level, find: Finder, protected: Collection[Path]) -> Boxes:
    if not sys.platform.startswith("linux"):
        raise SandboxError(say("sandbox-needs-linux"), say("run-grader-in-linux-virtual-machine"))
    as_root = os.geteuid() == 0
    if level == "strong":
        return find_bubblewrap(find, as_root=as_root, protected=protected)
    if level == "container":
        return find_container(find, as_root=as_root, protected=protected)
    if level == "basic" and linux.landlock_version() < 1:
        raise SandboxError(say("this-kernel-has-no-landlock"), say("use-linux-5-13-or-newer"))
    return FolderBoxes(level, as_root=as_root, protected=protected)
