"""Make the environment in .venv. `make setup` runs it with whatever Python the system has.

It chooses a supported Python, and refuses in one line, before anything is fetched, what cannot
work. PyTorch comes as its CPU build. An interrupted installation goes on with the same command.

Nothing is installed yet when it runs: it imports the standard library only, and is written in the
syntax of Python 3.6, so that an old Python reads it far enough to say what is wrong.
"""

import argparse
import csv
import fcntl
import json
import os
import platform
import re
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Callable, Dict, List, NamedTuple, Optional, TextIO, Tuple

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 10), (3, 14)
"""Supported versions of Python. A test compares them with pyproject.toml."""

GIGABYTE = 10**9
ROOM, ROOM_WITH_CUDA = 3 * GIGABYTE, 8 * GIGABYTE
"""Free space that the environment takes, caches included."""

ANSWER_SECONDS = 5.0
PYTORCH = ("torch", "torchvision")
AGAIN = "`make setup` continues where it stopped."


class SetupError(Exception):
    """What cannot work, and what to do. Its text is one line or, of an installer's error, more."""


# --- Python


MODULES = ("ssl", "zlib", "bz2", "lzma", "sqlite3", "ctypes", "venv", "ensurepip")
"""Modules that are imported later, and that a Python may have been built without."""

# Any Python runs it, also 2.7.
PROBE = """
import json, sys
missing = []
for name in sys.argv[1:]:
    try:
        __import__(name)
    except ImportError:
        missing.append(name)
try:
    import sysconfig
    threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    name = sys.implementation.name
except (AttributeError, ImportError):
    threaded, name = False, "cpython"
print(json.dumps([list(sys.version_info[:3]), name, threaded, missing]))
"""

Python = NamedTuple(
    "Python",
    [
        ("path", str),
        ("version", Tuple[int, ...]),
        ("implementation", str),
        ("free_threaded", bool),
        ("missing", Tuple[str, ...]),
    ],
)


def probe(path: str) -> Optional[Python]:
    """Return what a Python is, None where it does not run."""
    try:
        done = subprocess.run(
            [path, "-c", PROBE, *MODULES],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
            timeout=60,
        )
        version, name, threaded, missing = json.loads(done.stdout.decode())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Python(path, tuple(version), name, threaded, tuple(missing))


def fault(python: Optional[Python], *, has_uv: bool) -> str:
    """Return why a Python cannot be used, "" if it can. uv makes environments without ensurepip."""
    if python is None:
        return "does not run"
    version = ".".join(map(str, python.version))
    if python.implementation != "cpython":
        return "is {} {}, not CPython".format(python.implementation, version)
    if not OLDEST <= python.version[:2] <= NEWEST:
        return "is Python {}".format(version)
    if python.free_threaded:
        return "is the free-threaded build of Python {}, for which TVM has no package".format(
            version
        )
    missing = [each for each in python.missing if not (has_uv and each in ("venv", "ensurepip"))]
    if missing:
        return "has no module {}".format(", ".join(missing))
    return ""


def names_of_pythons() -> List[str]:
    """Return the names that a suitable Python may have on the path, the preferred first."""
    minors = range(NEWEST[1], OLDEST[1] - 1, -1)
    return ["python3", *("python3.{}".format(minor) for minor in minors)]


def choose_python(wanted: str, uv: Optional[str]) -> Python:
    """Return the wanted Python, or if none is wanted the first suitable one on the path.

    Raises SetupError.
    """
    faults: List[Tuple[Optional[Python], str]] = []
    for name in [wanted] if wanted else names_of_pythons():
        path = shutil.which(name)
        if path is None and not wanted:
            continue
        python = probe(path) if path else None
        found = fault(python, has_uv=uv is not None) if path else "is not installed"
        if python is not None and not found:
            if faults:
                say("{}: using {} instead.".format(faults[0][1], name))
            return python
        faults.append((python, "{} {}".format(name, found)))
    first, what = faults[0] if faults else (None, "no Python is installed")
    needed = "{}.{} to {}.{}".format(*OLDEST, *NEWEST)
    raise SetupError("{}: the grader needs CPython {}. {}".format(what, needed, remedy(first)))


def remedy(python: Optional[Python]) -> str:
    """Return the command that brings a Python, or what a Python lacks, on this system."""
    commands = [with_uv()]
    own = from_system(python)
    if own:
        commands.insert(0, own if os.geteuid() == 0 else "sudo " + own)
    return "Install one: {}".format("; or with uv: ".join(commands)) if own else commands[0]


def from_system(python: Optional[Python]) -> str:
    """Return the command of the system's package manager, "" where it has no suitable Python."""
    supported = python is not None and OLDEST <= python.version[:2] <= NEWEST
    if shutil.which("apt-get"):
        if python is None:
            return "apt-get install python3 python3-venv"
        if set(python.missing) <= {"venv", "ensurepip"} and supported:
            return "apt-get install python{}.{}-venv".format(*python.version)
        return ""  # a release has one Python
    packages = (("dnf", "install", "python3.12"), ("zypper", "install", "python312"))
    found = [" ".join(each) for each in packages if shutil.which(each[0])]
    return found[0] if found else ""


def with_uv() -> str:
    """Return the command that brings a Python by uv."""
    command = 'uv python install 3.12 && make setup PYTHON="$(uv python find 3.12)"'
    return command if shutil.which("uv") else command + " (https://docs.astral.sh/uv/)"


# --- the machine


def check_machine() -> None:
    """Refuse systems that PyTorch or TVM have no packages for."""
    system, machine = platform.system(), platform.machine()
    if system != "Linux":
        raise SetupError(
            "The grader needs Linux, and this is {}: use a Linux machine, a virtual machine"
            " or a container.".format(system)
        )
    if machine not in ("x86_64", "aarch64"):
        raise SetupError(
            "TVM has no packages for {}: use a machine with x86_64 or aarch64.".format(machine)
        )
    if not glibc() >= (2, 28):
        raise SetupError(
            "PyTorch and TVM need glibc 2.28 or newer, and this system has another C library:"
            " use a system such as Debian 12 or Ubuntu 24.04."
        )


def glibc() -> Tuple[int, ...]:
    """Return the version of glibc, () where the C library is another one, as in Alpine."""
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION") or ""
    except (ValueError, OSError):
        return ()
    return tuple(map(int, re.findall(r"\d+", text)))


def check_room(folder: Path, needed: int) -> None:
    """Refuse a file system that the environment does not fit in. What it has already counts."""
    free = shutil.disk_usage(str(folder.parent)).free
    if free < needed and free + size_of(folder) < needed:
        raise SetupError(
            "{} has {:.1f} GB free, and the environment takes {:.0f} GB: free some space, or clone"
            " to another disk.".format(folder.parent, free / GIGABYTE, needed / GIGABYTE)
        )


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    paths = (Path(where, name) for where, _, names in os.walk(str(folder)) for name in names)
    return sum(path.lstat().st_size for path in paths)


# --- the environment


def is_complete(environment: Path, wanted: str) -> bool:
    """Say whether everything is installed at today's versions, with the wanted Python if any."""
    stamp = environment / ".installed"
    needed = [ROOT / "pyproject.toml", ROOT / "constraints.txt"]
    if not stamp.exists() or not (environment / "bin/python").exists():
        return False
    if any(stamp.stat().st_mtime < path.stat().st_mtime for path in needed):
        return False
    if not wanted:
        return True
    inside, outside = probe(str(environment / "bin/python")), probe(wanted)
    return inside is not None and outside is not None and inside.version == outside.version


def make_environment(environment: Path, python: Python, uv: Optional[str]) -> None:
    """Make the environment, or keep the one that an earlier call began with the same Python."""
    inside = probe(str(environment / "bin/python"))
    has_pip = any(environment.glob("lib/python*/site-packages/pip/__main__.py"))
    if inside is not None and inside.version == python.version and has_pip:
        return
    version = ".".join(map(str, python.version))
    say("Making {} with Python {}.".format(environment.name, version))
    if "ensurepip" in python.missing or "venv" in python.missing:
        shutil.rmtree(str(environment), ignore_errors=True)
        words = [str(uv), "venv", "--quiet", "--seed", "--python", python.path, str(environment)]
    else:
        words = [python.path, "-m", "venv", "--clear", str(environment)]
    if subprocess.run(words, check=False).returncode != 0:
        raise SetupError("The environment could not be made: the lines above say why.")


def forget_damaged(packages: Path) -> List[str]:
    """Have packages that are there in part installed anew; return the folders of their metadata.

    An installer that was killed leaves them, and takes them for installed when it runs again.
    """
    damaged = [each for each in sorted(packages.glob("*.dist-info")) if not is_whole(each)]
    for each in damaged:
        shutil.rmtree(str(each), ignore_errors=True)
    return [each.name for each in damaged]


def is_whole(metadata: Path) -> bool:
    """Say whether a package has all files of its record, in their sizes."""
    try:
        with (metadata / "RECORD").open(newline="", encoding="utf-8") as file:
            for name, _, size in csv.reader(file):
                status = (metadata.parent / name).stat()
                if size and status.st_size != int(size):
                    return False
    except (OSError, ValueError):
        return False
    return True


# --- PyTorch's index


def why_silent(index: str, seconds: float = ANSWER_SECONDS) -> str:
    """Return why an index cannot be used, "" if it answers in time.

    pip itself would try for minutes. A name server may be silent for longer than any time limit of
    a connection, so a thread asks.
    """
    answers: "Queue[str]" = Queue()
    thread = threading.Thread(target=lambda: answers.put(ask(index, seconds)), daemon=True)
    thread.start()
    try:
        return answers.get(timeout=seconds)
    except Empty:
        return "no answer in {:.0f} seconds".format(seconds)


def ask(index: str, seconds: float) -> str:
    """Return why PyTorch's page of an index cannot be had, "" if it can."""
    request = urllib.request.Request(index.rstrip("/") + "/torch/", method="HEAD")
    try:
        urllib.request.urlopen(request, timeout=seconds).close()
    except urllib.error.HTTPError as error:
        error.close()
        return "HTTP status {}".format(error.code)
    except urllib.error.URLError as error:
        # Somebody answered: pip may know certificates that this Python does not.
        return "" if isinstance(error.reason, ssl.SSLError) else str(error.reason)
    except (OSError, ValueError) as error:
        return str(error)
    return ""


# --- installing


class Display:
    """Shows what an installation is at: one line on a terminal, a line now and then in a log."""

    def __init__(self, stream: TextIO, clock: Callable[[], float], pause: float = 15.0) -> None:
        self._stream = stream
        self._clock = clock
        self._pause = pause
        self._began = self._shown = clock()

    def show(self, text: str) -> None:
        """Show what is done now, with the time since the beginning."""
        now = self._clock()
        seconds = int(now - self._began)
        line = "{:3d}:{:02d}  {}".format(seconds // 60, seconds % 60, text)
        if self._stream.isatty():
            if now - self._shown < 0.2:
                return
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r\x1b[2K" + line[:width])
        elif now - self._shown < self._pause:
            return
        else:
            self._stream.write(line + "\n")
        self._stream.flush()
        self._shown = now

    def clear(self) -> None:
        """Leave the line to what follows."""
        if self._stream.isatty():
            self._stream.write("\r\x1b[2K")
            self._stream.flush()


class Account:
    """What pip's output, and the packages that are there, say about how far it is."""

    def __init__(self, packages: Path) -> None:
        self._packages = packages
        self._doing = "asking for packages"
        self._size = ""
        self._waiting: List[str] = []
        self._count = 0

    def read(self, line: str) -> None:
        """Take in a line of pip's output."""
        words = line.split()
        if line.startswith("Collecting "):
            self._doing = "choosing versions: " + re.split(r"[\[<>=!~; ]", words[1])[0]
        elif words[:1] == ["Downloading"]:
            name = words[1].rsplit("/", 1)[-1].split("-")[0]
            self._size = " ".join(words[2:]).strip("()")
            self._doing = "downloading {} ({})".format(name, self._size or "some kB")
        elif words[:1] == ["Progress"] and len(words) == 4 and "downloading" in self._doing:
            self._doing = self._doing.split(",")[0] + ", {:.0%}".format(share(words[1], words[3]))
        elif line.startswith("Installing collected packages: "):
            self._waiting = [normal(each) for each in line.split(": ", 1)[1].split(", ")]
            self._count = len(self._waiting)

    def text(self) -> str:
        """Return what pip is at. It says nothing while it installs, so look at what is there."""
        if not self._waiting:
            return self._doing
        there = {normal(each.name.split("-")[0]) for each in self._packages.glob("*.dist-info")}
        self._waiting = [each for each in self._waiting if each not in there] or ["the last files"]
        done = self._count - len(self._waiting)
        return "installing {} of {}: {}".format(done + 1, self._count, self._waiting[0])


def share(part: str, whole: str) -> float:
    """Return how much of a file is there."""
    return int(part) / max(int(whole), 1) if part.isdigit() and whole.isdigit() else 0.0


def normal(name: str) -> str:
    """Return a package's name in the one spelling that can be compared."""
    return re.sub(r"[-_.]+", "-", name.strip()).lower()


class Installer:
    """pip in an environment, or uv in its place."""

    def __init__(self, environment: Path, uv: Optional[str], display: Display) -> None:
        self._environment = environment
        self._display = display
        self._python = str(environment / "bin/python")
        self.uv = uv if uv and not self._pip_has_sources() else None

    def _pip_has_sources(self) -> bool:
        """Say whether pip is configured to fetch from elsewhere, which uv would pass by."""
        words = [self._python, "-m", "pip", "config", "list"]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
        names = r"^[\w:-]+\.(extra-index-url|index-url|find-links|no-index|proxy|cert)="
        return re.search(names, done.stdout.decode(errors="replace"), re.MULTILINE) is not None

    def install(self, *words: str) -> None:
        """Install, at the versions of constraints.txt. Raises SetupError."""
        words = ("--constraint", "constraints.txt", *words)
        if self.uv:
            self._by_uv(words)
        else:
            self._by_pip(words)

    def _by_uv(self, words: Tuple[str, ...]) -> None:
        command = [str(self.uv), "pip", "install", "--python", self._python, *words]
        if subprocess.run(command, cwd=str(ROOT), check=False).returncode != 0:
            raise SetupError("uv could not install the packages: see above. " + AGAIN)

    def _by_pip(self, words: Tuple[str, ...]) -> None:
        # pip compiles on one processor; `compile` below takes all of them.
        options = ("--disable-pip-version-check", "--no-input", "--no-compile", *self._progress())
        command = [self._python, "-u", "-m", "pip", "install", *options, *words]
        account = Account(next(self._environment.glob("lib/python*/site-packages")))
        said: List[str] = []

        def read(line: str) -> None:
            said.append(line)
            account.read(line)

        status = watch(command, self._variables(), read, lambda: self._display.show(account.text()))
        self._display.clear()
        if status != 0:
            raise SetupError(errors_among(said) + "pip could not install the packages. " + AGAIN)

    def compile(self) -> None:
        """Compile all modules: a sandbox cannot write here, and would do so at every start.

        Some packages carry files that are no Python, so the status says nothing.
        """
        (packages,) = self._environment.glob("lib/python*/site-packages")
        command = [self._python, "-W", "ignore", "-m", "compileall", "-q", "-j", "0", str(packages)]
        tick = partial(self._display.show, "compiling modules")
        watch(command, dict(os.environ), lambda _: None, tick)
        self._display.clear()

    def _progress(self) -> List[str]:
        """Return the option by which pip, from 24.1 on, says how much of a file is there."""
        words = [self._python, "-m", "pip", "install", "--help"]
        done = subprocess.run(words, stdout=subprocess.PIPE, check=False)
        return ["--progress-bar", "raw"] if b"raw" in done.stdout else []

    def _variables(self) -> Dict[str, str]:
        """Return pip's variables: downloads lie beside the environment, as /tmp may be small."""
        folder = self._environment / "tmp"
        folder.mkdir(exist_ok=True)
        return {"TMPDIR": str(folder), **os.environ}


def watch(
    command: List[str],
    variables: Dict[str, str],
    read: Callable[[str], None],
    tick: Callable[[], None],
) -> int:
    """Run a command and return its status; hand on each line, and tick at least every second.

    The command ends with this process.
    """
    child = subprocess.Popen(
        command,
        cwd=str(ROOT),
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    lines: "Queue[Optional[str]]" = Queue()
    reader = threading.Thread(target=pass_on, args=(child.stdout, lines), daemon=True)
    reader.start()
    try:
        while True:
            try:
                line = lines.get(timeout=1.0)
            except Empty:
                tick()
                continue
            if line is None:
                return child.wait()
            read(line)
            tick()
    finally:
        end(child)
        reader.join(timeout=10)


def pass_on(stream: Any, lines: "Queue[Optional[str]]") -> None:
    """Put each line of a stream into a queue, and None after the last."""
    with stream:
        for line in stream:
            lines.put(line.decode(errors="replace").rstrip())
    lines.put(None)


def end(child: "subprocess.Popen[bytes]") -> None:
    """End a process that may still run."""
    if child.poll() is not None:
        return
    child.terminate()
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def errors_among(lines: List[str]) -> str:
    """Return the errors in pip's output, or its last lines, for a person to read."""
    first = next((i for i, line in enumerate(lines) if line.startswith("ERROR")), None)
    shown = lines[-15:] if first is None else lines[first:][:40]
    return "".join("{}\n".format(line) for line in [*broken_connections(lines), *shown])


def broken_connections(lines: List[str]) -> List[str]:
    """Return a sentence where an index did not answer. pip goes on without it, and blames versions
    that the remaining sources do not have."""
    found = (re.search(r"connection broken by '(.*)': /", line) for line in lines)
    reasons = sorted({match.group(1) for match in found if match})
    if not reasons:
        return []
    return [
        "A package index could not be reached, so what follows may name the wrong cause:",
        *("  " + reason for reason in reasons[:3]),
        "Behind a proxy that checks connections, PIP_CERT names the file with its certificate.",
    ]


def install_all(installer: Installer, index: str) -> None:
    """Install PyTorch's CPU build, then everything else. Raises SetupError."""
    silent = why_silent(index) if index else "none is given"
    if silent:
        say(
            "PyTorch's CPU index {} cannot be used: {}. PyTorch comes from pip's own sources."
            " Where these have only the CUDA build, that is 3 GB more to download, and {:.0f} GB"
            " of disk in all.".format(index, silent, ROOM_WITH_CUDA / GIGABYTE)
        )
        installer.uv = None  # pip's configuration may name a mirror, which uv does not read
        installer.install(*PYTORCH)
    else:
        installer.install("--no-deps", "--index-url", index, *PYTORCH)
    installer.install("--editable", ".[dev]")
    installer.compile()


# --- the command


def say(text: str) -> None:
    """Print a line at once."""
    print(text, flush=True)


def alone(folder: Path) -> int:
    """Wait for other calls of this script in a folder; return what holds the lock."""
    lock = os.open(str(folder), os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        say("Waiting for another `make setup` in this folder.")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def set_up(environment: Path, wanted: str, index: str) -> None:
    """Make the environment complete. Raises SetupError."""
    if is_complete(environment, wanted):
        return
    check_machine()
    uv = shutil.which("uv")
    python = choose_python(wanted, uv)
    check_room(environment, ROOM)
    alone(environment.parent)
    if is_complete(environment, wanted):  # by the call that was waited for
        return
    stamp, begun = environment / ".installed", environment / ".begun"
    if stamp.exists():
        stamp.unlink()
    if begun.exists():
        for packages in environment.glob("lib/python*/site-packages"):
            forget_damaged(packages)
    make_environment(environment, python, uv)
    begun.touch()
    install_all(Installer(environment, uv, Display(sys.stdout, time.monotonic)), index)
    shutil.rmtree(str(environment / "tmp"), ignore_errors=True)
    begun.unlink()
    stamp.touch()


def stop(number: int, _frame: Any) -> None:
    """End as after Ctrl-C, so that what was started ends too."""
    raise KeyboardInterrupt(number)


def main(words: Optional[List[str]] = None) -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--environment", type=Path, default=ROOT / ".venv", metavar="DIR")
    parser.add_argument("--python", default="", help="Python to use (default: one on the path)")
    parser.add_argument("--torch-index", default="", metavar="URL", help="index of CPU builds")
    options = parser.parse_args(words)
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, stop)
    try:
        set_up(options.environment.resolve(), options.python, options.torch_index)
    except SetupError as refusal:
        print(refusal, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted. " + AGAIN, file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
