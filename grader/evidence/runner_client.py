"""The trusted end of a runner: starts one in a sandbox, asks it, and ends it.

A runner for modules with Python externs has a companion in its own sandbox, the evaluator,
which calls them. The two talk to each other; the referee only ever listens to the runner.

Whatever a runner does, `request` returns an answer within the time it was given: one that dies or
stays silent has answered with a TaskFailure, and is ended. Nothing here loads TVM or a pickle.
"""

from __future__ import annotations

import contextlib
import select
import signal
import socket
import time
from typing import Literal, TypeGuard, overload

import msgspec

from grader.errors import ProtocolError, SandboxError
from grader.evidence.problems import Ended
from grader.inside.launcher.protocol import Program
from grader.language import NOTHING, Text, foreign, join, say
from grader.messages.evidence import Examine, Examined
from grader.messages.frames import (
    RUNNER_FRAME_LIMIT,
    FrameError,
    decode_payload,
    encode_frame,
    read_frame,
)
from grader.messages.runner import (
    EXTERN_DIED,
    BuildAhead,
    Built,
    FailureCode,
    FindStep,
    FoundStep,
    FromLibrary,
    FromRunner,
    MutateModule,
    MutationResult,
    ReplayResult,
    ReplayTrace,
    RunModule,
    RunResult,
    TaskFailure,
    ToRunner,
    TraceModule,
    TraceResult,
)
from grader.messages.timing import (
    LibraryTiming,
    MachineLimits,
    MeasureLimits,
    StepTimes,
    TimeLibrary,
    TimeSchedule,
    TimeSteps,
    TimingResult,
)
from grader.sandbox.interface import Command, Process, ResourceLimits, Sandbox, inside_numbers
from grader.sandbox.room import refuse_displaced

Task = ToRunner | TimeLibrary
Answer = FromRunner | FromLibrary

_RESULTS: dict[type[Task], type[Answer]] = {
    RunModule: RunResult,
    TraceModule: TraceResult,
    TimeSchedule: TimingResult,
    TimeSteps: StepTimes,
    MeasureLimits: MachineLimits,
    ReplayTrace: ReplayResult,
    FindStep: FoundStep,
    MutateModule: MutationResult,
    Examine: Examined,
    TimeLibrary: LibraryTiming,
}
"""What each task is answered with, unless it fails."""

START_SECONDS = 120.0
"""How long a runner may take to import TVM, on a machine that is busy with others."""

TIMING_WATCH_SECONDS = 1.0
"""How often the use of a runner that measures is looked at. A look takes 0.4 ms of some processor,
and where all of them measure, of one that does; ten looks a second could meet every twentieth block
of 5 ms. Never to look would leave the sum of a sandbox's memory, and below the level "strong" its
files, to the limits of single processes."""

_BUILT_LIMIT = 256
"""Longest frame that says what was built ahead."""

_BUFFER = 4 * 2**20
"""Bytes that may be on their way, if the system allows so many: an array then goes at once, and its
writer need not wait for the reader in between."""


class _Deadline:
    """A socket used up to a moment: each call waits for what is left of the time."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self._end = time.monotonic() + seconds

    def recv(self, size: int, /) -> bytes:
        """Read as a socket does. Raises TimeoutError."""
        self._set()
        return self._connection.recv(size)

    def send(self, content: bytearray) -> None:
        """Write all bytes. Raises TimeoutError, or ConnectionError where nobody reads them."""
        self._set()
        self._connection.sendall(content)

    def _set(self) -> None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)


class Runner:
    """A started runner, to be used as a context manager or closed.

    A runner that failed to answer once is ended, and every later request gets the same failure.
    `seconds` is what it took for all that it has done, with what it built ahead. `evaluator` is the
    process that calls externs for it, and lives no longer than the runner.
    """

    def __init__(
        self,
        process: Process,
        connection: socket.socket,
        start_seconds: float = START_SECONDS,
        evaluator: Process | None = None,
    ) -> None:
        self._process = process
        self._evaluator = evaluator
        self._connection = connection
        self._start_seconds = start_seconds
        self._is_ready = self._is_building = False
        self.seconds = 0.0
        self._failure: TaskFailure | None = None

    @overload
    def request(self, task: ToRunner, timeout: float) -> FromRunner: ...

    @overload
    def request(self, task: TimeLibrary, timeout: float) -> FromLibrary: ...

    def request(self, task: Task, timeout: float) -> Answer:
        """Do one task within `timeout` seconds, the start not counted.

        The answer is a TaskFailure called "TimeLimit" when there was none in time, one called
        "Died" when the runner's process ended, "ExternDied" when the evaluator's did. Raises
        ProtocolError when the answer is not of the task's kind, SandboxError when the runner never
        became ready, DisplacedError when it was ended for memory that others may have taken.
        """
        if self._failure is not None:
            return self._failure
        self.await_start()
        try:
            answer = self._ask(task, _Deadline(self._connection, timeout))
        except TimeoutError:
            sentence = say("there-no-answer-within-seconds", seconds=timeout)
            self.close()
            self._refuse_displaced()
            return self._end(Ended(_stage(task), "TimeLimit", "", why=sentence))
        except (ConnectionError, FrameError) as error:
            if self._process.wait(END_SECONDS) is not None:
                return self._died(task)
            self.close()
            raise ProtocolError(
                say("runners-answer-cannot-read", error=str(error)), say("grade-submission-again")
            ) from None
        if answer is None:
            return self._died(task)
        if self._evaluator is not None and _tells_of_the_end_of_an_extern(answer):
            return self._extern_died(answer, self._evaluator)
        return answer

    def build_ahead(self, task: RunModule | TimeSchedule | TimeSteps) -> None:
        """Have it build what a task to come will run, and return at once.

        Whatever comes of it, that task finds out. Raises SandboxError when it never became ready.
        """
        self.await_start()
        self._is_building = True
        with contextlib.suppress(TimeoutError, ConnectionError):  # it has ended: asked, it says so
            frame = encode_frame(BuildAhead(task))
            _Deadline(self._connection, self._start_seconds).send(frame)

    def is_building(self) -> bool:
        """Say whether it builds ahead at this moment: it has neither ended that nor itself."""
        if self._is_building and self._failure is None:
            poller = select.poll()
            poller.register(self._connection, select.POLLIN)
            return not poller.poll(0)
        return False

    def await_built(self, timeout: float) -> bool:
        """Wait until it builds nothing any more; say whether it came to that."""
        try:
            return self._finish_building(_Deadline(self._connection, timeout))
        except (TimeoutError, ConnectionError, FrameError):
            return False

    def _finish_building(self, deadline: _Deadline) -> bool:
        if self._is_building:
            payload = read_frame(deadline, _BUILT_LIMIT)
            if payload is None:
                return False
            self.seconds += decode_payload(payload, Built).seconds
            self._is_building = False
        return True

    @property
    def peak(self) -> int:
        """Bytes of memory that it has held at most, with its evaluator; 0 before its end."""
        return sum(process.peak for process in self._processes())

    def close(self) -> None:
        """End the runner and everything in its sandbox. Harmless when it was done before."""
        self._connection.close()
        for process in self._processes():
            process.kill()
        if self._failure is None:
            self._failure = Ended("run", "Died", "", why=say("runner-killed"))

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def await_start(self) -> None:
        """Wait for the empty frame with which a runner says that it is ready.

        Raises SandboxError when it does not become so.
        """
        if self._is_ready:
            return
        try:
            payload = read_frame(_Deadline(self._connection, self._start_seconds), 0)
        except (TimeoutError, ConnectionError, FrameError):
            payload = None
        if payload is None:
            self.close()
            self._refuse_displaced()
            hint = start_hint(*filter(None, (self._evaluator, self._process)))
            raise SandboxError(say("runner-could-not-started"), hint)
        self._is_ready = True

    def _ask(self, task: Task, deadline: _Deadline) -> Answer | None:
        """Send the task and return the answer, or None at the end of the stream."""
        if not self._finish_building(deadline):
            return None
        begin = time.monotonic()
        deadline.send(encode_frame(task))
        payload = read_frame(deadline, RUNNER_FRAME_LIMIT)
        self.seconds += time.monotonic() - begin
        if payload is None:
            return None
        expected: type[Answer] = _RESULTS[type(task)] | TaskFailure  # type: ignore[assignment]
        return decode_payload(payload, expected)

    def _refuse_displaced(self) -> None:
        for process in self._processes():
            if process.cause == "outside":
                self.close()
            refuse_displaced(process)

    def _processes(self) -> list[Process]:
        return [each for each in (self._process, self._evaluator) if each is not None]

    def _died(self, task: Task) -> TaskFailure:
        status = self._process.wait(END_SECONDS)
        self._refuse_displaced()
        sentence = describe_end(self._process) or say("process-ended-before-answered")
        name: FailureCode = "TimeLimit" if status == 128 + signal.SIGXCPU else "Died"
        return self._end(Ended(_stage(task), name, "", why=sentence))

    def _extern_died(self, answer: TaskFailure, evaluator: Process) -> TaskFailure:
        """Add to the runner's answer how the evaluator's process ended."""
        status = evaluator.wait(END_SECONDS)
        self._refuse_displaced()
        why = join(foreign(answer.message), describe_end(evaluator))
        name: FailureCode = "TimeLimit" if status == 128 + signal.SIGXCPU else EXTERN_DIED
        return self._end(Ended(answer.stage, name, "", why=why))

    def _end(self, failure: TaskFailure) -> TaskFailure:
        self._failure = failure
        self.close()
        return failure


def _tells_of_the_end_of_an_extern(answer: Answer) -> TypeGuard[TaskFailure]:
    return isinstance(answer, TaskFailure) and answer.code == EXTERN_DIED


def start_runner(
    sandbox: Sandbox,
    kind: Literal["pure", "extern", "library"],
    limits: ResourceLimits,
    environment: dict[str, str],
    program: Literal["runner", "mutants"] = "runner",
) -> Runner:
    """Start a runner and return at once: it imports TVM while others work. Raises SandboxError.

    One of the kind "extern" gets an evaluator; one of the kind "library" has PyTorch and does
    `TimeLibrary` alone. No runner has student Python in its own process. `program` is which tasks
    the others do: all but `MutateModule`, or that one alone.

    Several may be started one after the other, or from several threads.
    """

    def start(program: Program, *sockets: socket.socket) -> Process:
        command = Command(
            program=program,
            arguments=tuple(map(str, inside_numbers(len(sockets)))),
            descriptors=tuple(each.fileno() for each in sockets),
            environment=environment,
            limits=limits,
        )
        return sandbox.start(command)

    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as after_failure:
        ours, tasks = _pair(after_failure, theirs)
        if kind != "extern":
            runner = Runner(start(program if kind == "pure" else "library", tasks), ours)
        else:
            asking, answering = _pair(theirs, theirs)
            evaluator = start("evaluator", answering)
            after_failure.callback(evaluator.kill)
            runner = Runner(start(program, tasks, asking), ours, evaluator=evaluator)
        after_failure.pop_all()
        return runner


def start_timing_runner(sandbox: Sandbox, limits: ResourceLimits, threads: int) -> Runner:
    """Start a runner that measures: pure, with so many threads, and seldom looked at.

    Returns at once. Raises SandboxError.
    """
    undisturbed = msgspec.structs.replace(limits, watch=TIMING_WATCH_SECONDS)
    return start_runner(sandbox, "pure", undisturbed, {"TVM_NUM_THREADS": str(threads)})


def _pair(
    one: contextlib.ExitStack, other: contextlib.ExitStack
) -> tuple[socket.socket, socket.socket]:
    """Return a connected pair, whose ends are closed with the one stack and with the other."""
    first, second = socket.socketpair()
    for each in (first, second):
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER)
    return one.enter_context(first), other.enter_context(second)


def _stage(task: Task) -> Literal["run", "time"]:
    measures = isinstance(task, TimeSchedule | TimeSteps | MeasureLimits | TimeLibrary)
    return "time" if measures else "run"


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
