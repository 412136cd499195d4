"""The process that checks: it does for a live notebook what the referee does for a submission."""

from __future__ import annotations

import os
import signal
import socket
import sys
from typing import cast

from grader.errors import GraderError
from grader.language import one_of_ours, say
from grader.messages import decode_payload, encode_frame, read_frame
from grader.report.texts import encoder
from grader.sandbox.choose import choose_sandbox
from grader.selfcheck.checker import Checker
from grader.selfcheck.messages import FRAME_LIMIT, FindAssignment, FromChecker, Refused, ToChecker


def serve(connection: socket.socket, checker: Checker) -> None:
    """Answer requests up to the end of the connection. What goes wrong becomes an answer, too."""
    while (payload := read_frame(connection, FRAME_LIMIT)) is not None:
        # mypy has no type for a union as a value
        request = decode_payload(payload, cast("type[ToChecker]", ToChecker))
        connection.sendall(
            encode_frame(_answer(checker, request), encoder(one_of_ours(checker.language)))
        )


def _answer(checker: Checker, request: ToChecker) -> FromChecker:
    try:
        if isinstance(request, FindAssignment):
            return checker.find(request)
        return checker.check(request)
    except GraderError as error:
        return Refused(error.message, error.hint, checker.language)
    except Exception as error:
        if "GRADER_DEBUG" in os.environ:
            raise
        return Refused(
            say(
                "The grader failed itself, with {error}: {message}",
                error=type(error).__name__,
                message=str(error),
            ),
            language=checker.language,
        )


def main(arguments: list[str]) -> None:
    """Serve the connection whose descriptor is the argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the kernel says when it is over
    with (
        socket.socket(fileno=int(arguments[0])) as connection,
        Checker(lambda: choose_sandbox(None, "none"), os.environ) as checker,
    ):
        serve(connection, checker)


if __name__ == "__main__":
    main(sys.argv[1:])
