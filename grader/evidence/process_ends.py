"""How the process of a runner came to its end, in words."""

from __future__ import annotations

import signal

from grader.language import NOTHING, Text, join, say
from grader.sandbox.interface import Process

END_SECONDS = 1.0
"""How long to wait for the exit status of a runner whose connection is gone."""

_ENDINGS = {
    128 + signal.SIGSEGV: say("It accessed memory that is not its own (segmentation fault)."),
    128 + signal.SIGBUS: say("It accessed memory that is not its own (bus error)."),
    128 + signal.SIGILL: say("It used an instruction that this processor does not have."),
    128 + signal.SIGFPE: say("It divided an integer by zero."),
    128 + signal.SIGABRT: say("It was aborted, because a check in it failed or memory ran out."),
    128 + signal.SIGKILL: say("It was killed, most likely because memory ran out."),
    128 + signal.SIGXCPU: say("It used up its processor time."),
}

_EXCESSES = {
    "memory": say("It was ended, because it used more memory than allowed."),
    "processes": say("It was ended, because it started more processes than allowed."),
    "files": say("It was ended, because it created more files than allowed."),
    "disk": say("It was ended, because it wrote more than allowed."),
    "descriptors": say("It was ended, because it opened more files than allowed."),
    "machine": say("It was ended, because it used the machine's last memory."),
}


def describe_end(process: Process) -> Text:
    """Return how a process came to its end; empty for an end that says nothing."""
    end = _EXCESSES.get(process.cause) or _ENDINGS.get(process.wait(END_SECONDS) or 0)
    return end if end is not None else NOTHING


def start_hint(*processes: Process) -> Text:
    """Say what to do, with the last line of the first process that wrote something."""
    texts = (process.standard_error.strip() for process in processes)
    lines = next(filter(None, texts), "").splitlines()
    told = say("It printed: {line}", line=lines[-1]) if lines else NOTHING
    return join(say("Run `grader doctor`: the packages may not fit together."), told)
