"""How the process of a runner came to its end, in words."""

import signal

from grader.language import NOTHING, Text, join, say
from grader.sandbox.interface import Process

END_SECONDS = 1.0
"""How long to wait for the exit status of a runner whose connection is gone."""

_ENDINGS = {
    128 + signal.SIGSEGV: say("accessed-memory-that-not-own-segmentation-fault"),
    128 + signal.SIGBUS: say("accessed-memory-that-not-own-bus-error"),
    128 + signal.SIGILL: say("used-instruction-that-this-processor-does"),
    128 + signal.SIGFPE: say("divided-integer-by-zero"),
    128 + signal.SIGABRT: say("aborted-because-check-in-failed-or-memory"),
    128 + signal.SIGKILL: say("killed-most-likely-because-memory-ran-out"),
    128 + signal.SIGXCPU: say("used-up-processor-time"),
}

_EXCESSES = {
    "memory": say("ended-because-used-more-memory-than-allowed"),
    "processes": say("ended-because-started-more-processes-than-allowed"),
    "files": say("ended-because-created-more-files-than-allowed"),
    "disk": say("ended-because-wrote-more-than-allowed"),
    "descriptors": say("ended-because-opened-more-files-than-allowed"),
    "machine": say("ended-because-used-machines-last-memory"),
}


def describe_end(process: Process) -> Text:
    """Return how a process came to its end; empty for an end that says nothing."""
    end = _EXCESSES.get(process.cause) or _ENDINGS.get(process.wait(END_SECONDS) or 0)
    return end if end is not None else NOTHING


def start_hint(*processes: Process) -> Text:
    """Say what to do, with the last line of the first process that wrote something."""
    texts = (process.standard_error.strip() for process in processes)
    lines = next(filter(None, texts), "").splitlines()
    told = say("printed-title", line=lines[-1]) if lines else NOTHING
    return join(say("run-grader-doctor-packages-may-not-fit"), told)
