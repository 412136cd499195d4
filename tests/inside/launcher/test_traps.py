"""What a process forked from a warm one may carry along, and must not."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from grader.execute.result import Execution
from grader.sandbox.start import SteppingSandbox
from tests.conftest import require
from tests.execute.conftest import run_cells
from tests.missing import needs_root
from tests.sandbox.inside import command_lines, some_seconds

WRITABLE = '[os.getcwd(), tempfile.gettempdir(), "/dev/shm"]'


def printed(execution: Execution) -> str:
    """Return all text that a notebook's cells have printed; they must not have failed."""
    assert execution.problems == ()
    assert execution.notes == ()
    outputs = [output for cell in execution.notebook.cells for output in cell.outputs]
    return "".join(output.text for output in outputs if output.output_type == "stream")


def from_kernel(sandbox: SteppingSandbox, code: str) -> Any:
    """Return the value that a cell prints as a Python literal."""
    import ast

    return ast.literal_eval(printed(run_cells(sandbox, code)))


class TestRandomness:
    @pytest.mark.parametrize(
        "draw",
        [
            "__import__('random').random()",
            "float(__import__('numpy').random.rand())",
            "float(__import__('torch').rand(()))",
            "int.from_bytes(__import__('os').urandom(6), 'big')",
            "int.from_bytes(__import__('multiprocessing').current_process().authkey, 'big')",
        ],
    )
    def test_no_two_submissions_draw_the_same_numbers(
        self, sandbox: SteppingSandbox, draw: str
    ) -> None:
        numbers = {from_kernel(sandbox, f"print({draw})") for _ in range(3)}
        assert len(numbers) == 3


class TestInheritance:
    def test_no_descriptor_is_inherited_but_the_kernel_s_own(
        self, sandbox: SteppingSandbox, tmp_path: Path
    ) -> None:
        """Five listening sockets and two streams come in; the one for the configuration is closed.

        Everything else is the kernel's own: pairs of sockets, pipes and event counters.
        """
        with (tmp_path / "unrelated").open("w") as unrelated:
            os.set_inheritable(unrelated.fileno(), True)
            code = """
import os
kinds = set()
for name in os.listdir("/proc/self/fd"):
    try:
        kinds.add(os.readlink("/proc/self/fd/" + name).split(":")[0])
    except OSError:
        pass
print(sorted(kinds))
"""
            kinds = from_kernel(sandbox, code)
        allowed = {"socket", "pipe", "anon_inode", "/dev/null"}
        own_folder = [kind for kind in kinds if kind.startswith("/proc/")]
        assert set(kinds) <= allowed | set(own_folder)

    def test_nothing_of_the_grader_s_environment_is_there(
        self, sandbox: SteppingSandbox, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COURSE_SECRET", "blue-4711")
        code = """
import os
text = open("/proc/self/environ", "rb").read() + repr(dict(os.environ)).encode()
text += open("/proc/self/cmdline", "rb").read()
print(b"blue-4711" in text)
"""
        assert from_kernel(sandbox, code) is False

    def test_all_signals_act_as_in_a_new_process(self, sandbox: SteppingSandbox) -> None:
        """Whatever the grader's own caller has blocked: `perf record` blocks SIGWINCH."""
        code = """
import signal
status = dict(l.split(":", 1) for l in open("/proc/self/status").read().splitlines())
print([int(status["SigBlk"], 16), signal.getsignal(signal.SIGCHLD) == signal.SIG_DFL])
"""
        assert from_kernel(sandbox, code) == [0, True]

    def test_the_grader_s_modules_hold_nothing_of_a_course(self, sandbox: SteppingSandbox) -> None:
        code = """
import sys
names = [n.split(".") for n in sys.modules if n.startswith("grader.")]
inside = {n[2] for n in names if n[1] == "inside" and n[2:]}
print([sorted({n[1] for n in names}), sorted(inside)])
"""
        rooms, inside = from_kernel(sandbox, code)
        assert rooms == ["decoding", "inside", "messages", "timing"]
        assert inside == ["common", "evaluator", "kernel", "launcher", "library"]


def own() -> int:
    """Return the capabilities that this process could still get by a program that has them."""
    (line,) = re.findall(r"^CapBnd:\t(.*)$", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(line, 16)


class TestPowers:
    def test_capabilities_do_not_come_back_by_stepping_in(self, sandbox: SteppingSandbox) -> None:
        require(sandbox, "minimal")
        code = """
status = dict(l.split(":", 1) for l in open("/proc/self/status").read().splitlines())
sets = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
print([int(status[name], 16) for name in sets] + [int(status["NoNewPrivs"])])
"""
        *given, bounding, ambient, no_new = from_kernel(sandbox, code)
        assert [*given, ambient, no_new] == [0, 0, 0, 0, 1]
        # A user who can make no namespace may not bound them either, and what is set is theirs.
        assert bounding in ({0} if sandbox.level == "strong" or os.geteuid() == 0 else {0, own()})

    def test_a_process_owns_its_entry_in_proc(self, sandbox: SteppingSandbox) -> None:
        code = """
import os
owner = os.stat("/proc/self/environ").st_uid
print([owner == os.getuid(), bool(os.listdir("/proc/self/fd"))])
"""
        assert from_kernel(sandbox, code) == [True, True]


class TestTraces:
    def test_what_one_submission_writes_the_next_does_not_find(
        self, sandbox: SteppingSandbox
    ) -> None:
        require(sandbox, "basic")
        write = f"""
import os, tempfile
for folder in {WRITABLE}:
    try:
        open(os.path.join(folder, "trace"), "w").write("left")
    except PermissionError:
        assert folder == "/dev/shm"
os.environ["TRACE"] = "left"
import builtins, tvm, torch
builtins.trace = tvm.trace = torch.trace_left = "left"
tvm.register_global_func("trace.left", lambda: 1)
"""
        look = f"""
import os, tempfile, builtins, tvm, torch
found = [folder for folder in {WRITABLE} if os.path.exists(os.path.join(folder, "trace"))]
found += [name for name, there in {{
    "environment": "TRACE" in os.environ,
    "builtins": hasattr(builtins, "trace"),
    "tvm": hasattr(tvm, "trace"),
    "torch": hasattr(torch, "trace_left"),
    "registry": tvm.get_global_func("trace.left", allow_missing=True) is not None,
}}.items() if there]
print(found)
"""
        assert printed(run_cells(sandbox, write)) == ""
        assert from_kernel(sandbox, look) == []

    def test_addresses_of_another_submission_cannot_be_seen_in_proc(
        self, sandbox: SteppingSandbox
    ) -> None:
        """What was forked from the same process lies at the same addresses."""
        require(sandbox, "basic")
        code = """
import os
try:
    print(sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))
except PermissionError:
    print([1])
"""
        assert from_kernel(sandbox, code)[-1] < 10


HEAVY = """
import numpy as np, torch, tvm
from tvm import relax, topi
from tvm.script import relax as R
layer = torch.nn.Conv2d(1, 8, 3)
layer(torch.rand(16, 1, 28, 28)).sum().backward()
builder = relax.BlockBuilder()
x = relax.Var("x", R.Tensor((64, 64), "float32"))
with builder.function("main", [x]):
    with builder.dataflow():
        y = builder.emit_output(builder.emit_te(topi.nn.relu, x))
    builder.emit_func_output(y)
module = builder.get()
schedule = tvm.s_tir.Schedule(module)
for name in [v.name_hint for v in module.get_global_vars() if v.name_hint != "main"]:
    block = schedule.get_sblock("compute", func_name=name)
    schedule.parallel(schedule.get_loops(block)[0])
built = relax.build(schedule.mod, "llvm")
machine = relax.VirtualMachine(built, tvm.cpu())
result = machine["main"](tvm.runtime.tensor(np.ones((64, 64), "float32")))
print(float(result.numpy().sum()))
"""


class TestHanging:
    """A child that inherits the locks of a thread, but not the thread, hangs in its first use."""

    def test_fifty_children_use_threads_of_both_libraries(self, sandbox: SteppingSandbox) -> None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(4) as executor:
            results = list(executor.map(lambda _: from_kernel(sandbox, HEAVY), range(50)))
        assert results == [64.0 * 64.0] * 50

    def test_a_launcher_with_a_second_thread_refuses_to_fork(self) -> None:
        import socket
        import threading

        from grader.inside.launcher.server import serve

        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stop = threading.Event()
        thread = threading.Thread(target=stop.wait)
        thread.start()
        try:
            with ours, theirs:
                ours.send(_any_request())
                with pytest.raises(RuntimeError, match="started a thread"):
                    serve(theirs)
        finally:
            stop.set()
            thread.join()


def _any_request() -> bytes:
    import msgspec

    from grader.inside.launcher.protocol import Bounds, Confinement, Request

    bounds = Bounds(
        limits={}, memory=1, processes=1, files=1, disk=1, watched=(), interval=0.0, descriptors=1
    )
    return msgspec.msgpack.encode(
        Request("python", (), {}, "/", Confinement(namespaces=False), bounds)
    )


class TestLauncher:
    @needs_root("a launcher is closed to other processes of its user")
    def test_it_holds_nothing_of_what_was_started(self, sandbox: SteppingSandbox) -> None:
        """After a hundred starts its descriptors are as many as after one."""
        run_cells(sandbox, "1")
        launcher = sandbox._launchers["student"]
        descriptors = _open_descriptors(launcher.pid)
        for _ in range(5):
            run_cells(sandbox, "'the-answer-of-' + 'ada'")
        assert _open_descriptors(launcher.pid) == descriptors

    def test_its_children_are_gone_with_their_submission(self, sandbox: SteppingSandbox) -> None:
        marker = some_seconds()
        run_cells(sandbox, f"import subprocess; subprocess.Popen(['setsid', 'sleep', '{marker}'])")
        launcher = sandbox._launchers["student"]
        deadline = time.monotonic() + 60
        while _children(launcher.pid):
            assert time.monotonic() < deadline, "a warden outlives its sandbox"
            time.sleep(0.02)
        assert not any(marker in line for line in command_lines())


def _children(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()


def _open_descriptors(pid: int) -> int:
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
