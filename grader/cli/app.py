"""The command line: one call, an exit code out, whatever happens.

What the commands need is imported last: it takes a second, in which one may press Ctrl-C.
"""

import gc
import os
import signal
import sys
from types import ModuleType
from typing import cast

from grader.cli.ending import Interruption, OutputError, discard_output, prepare_process
from grader.errors import GraderError, told_failure
from grader.language import NOTHING, Text, say
from grader.machine.limits import demand_limits

GRADED, UNGRADED, SIGNALLED = 0, 2, 128

ALLOCATIONS = 50_000
"""Objects after which garbage is looked for. After Python's own 700, to import PyTorch and TVM took
a sixth and a fifth longer: what is imported is no garbage."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    gc.set_threshold(ALLOCATIONS)
    interruption = prepare_process()
    try:
        code = _run(interruption)
        interruption.end()  # once more: what interrupts the first one waits to be raised again
        if not interruption.number:
            sys.stdout.flush()
    except OutputError as error:  # of what waited to be written
        code = _say(error.message, error.hint)
    except KeyboardInterrupt:  # while it was written
        code = SIGNALLED + signal.SIGINT
    if interruption.number:
        discard_output()
        _say(say("interrupted"))
        code = SIGNALLED + interruption.number
    # To look for garbage among all that was imported took 0.6 s of the end of a command.
    gc.freeze()
    sys.exit(code)


def spare_slow_imports() -> None:
    """Leave out what libraries would import, where it is installed, and nothing here needs.

    Where Jupyter's server is, jsonschema takes a parser of IRIs along, which reads its grammar for
    0.9 s, for `grader --help` too. The schema of notebooks has no IRIs.
    """
    sys.modules.setdefault("rfc3987_syntax", cast(ModuleType, None))


def _run(interruption: Interruption) -> int | str | None:
    """Run a command. Returns its exit code."""
    try:
        try:
            spare_slow_imports()
            from grader.cli.commands import app

            app()
        finally:
            interruption.end()
    except SystemExit as ending:  # so the library ends every command
        return ending.code
    except GraderError as error:
        return _say(error.message, error.hint)
    except KeyboardInterrupt:
        return SIGNALLED + signal.SIGINT
    except ModuleNotFoundError as error:
        return _say_missing(error)
    except Exception as error:  # noqa: BLE001 - raised again for whoever looks for the reason
        return _say_failed(error)
    return GRADED


def _say_missing(error: ModuleNotFoundError) -> int:
    """Tell who has installed the self-check alone what a command needs."""
    from grader.environment import FOR_GRADING, missing_for_grading, only_self_check

    if error.name not in FOR_GRADING:
        return _say_failed(error)
    told = only_self_check(missing_for_grading())
    return _say(told.message, told.hint)


def _say_failed(error: Exception) -> int:
    if "GRADER_DEBUG" in os.environ:
        raise error
    try:
        demand_limits()  # where these are too low, anything may fail, in any way
    except GraderError as limited:
        return _say(limited.message, limited.hint)
    failed = say("internal-error-no-grade-given", error=told_failure(error))
    return _say(failed, say("run-again-with-grader-debug"))


def _say(message: Text, hint: Text = NOTHING) -> int:
    """Tell a person on the standard error. Returns the exit code of what could not be done."""
    from rich.console import Console

    from grader.cli.telling import tell, words

    console = Console(stderr=True, emoji=False)
    tell(console, f"grader: {words(message)}", style="bold red")
    if hint:
        tell(console, f"        {words(hint)}")
    return UNGRADED
