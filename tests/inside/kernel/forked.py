"""Programs in processes of their own, forked from one that has imported TVM, as a kernel is.

An import of TVM takes three seconds of a processor, which is paid here once for all programs.
Warnings are errors. Reads programs from the standard input and answers each with its exit code
and what it printed, a line of JSON each way.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from types import TracebackType
from typing import IO

ROOT = Path(__file__).parents[3]


class Programs:
    """Runs programs, from the first until it is closed."""

    def __enter__(self) -> Programs:
        self._server = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.communicate()

    def output_of(self, program: str) -> str:
        """Return what a program prints. Raises AssertionError if it fails."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(program) + "\n")
        self._server.stdin.flush()
        code, output, messages = json.loads(self._server.stdout.readline())
        assert 0 == code, messages
        return str(output).strip()


def main() -> None:
    """Answer until nobody asks any more."""
    import tvm

    assert tvm.__version__
    for line in sys.stdin:
        print(json.dumps(_run(json.loads(line))), flush=True)


def _run(program: str) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        child = os.fork()
        if child == 0:
            os.dup2(output.fileno(), 1)
            os.dup2(messages.fileno(), 2)
            _become(program)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), _text(output), _text(messages)


def _become(program: str) -> None:
    """Run a program in this process, and end."""
    code = 1
    try:
        exec(compile(program, "<string>", "exec"), {"__name__": "__main__"})
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    main()
