"""Uses a kernel as a program does that is written for Jupyter's kernels, and prints what was seen.

    python using.py WAY NAME FOLDER CELL

It is run in a process of its own, below one that sees what it leaves. CELL is a file with code,
FOLDER where the kernel is to be started.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import KernelManager
from tornado.httpclient import HTTPRequest
from tornado.ioloop import IOLoop
from tornado.websocket import websocket_connect

SECONDS = 100
SERVER = Path(sys.executable).with_name("jupyter-server")
SLEEP = "import time\nprint('asleep', flush=True)\ntime.sleep(600)"


def with_nbclient(name: str, folder: Path, cell: str) -> dict[str, Any]:
    """Run a notebook, and say how long the kernel takes to shut down."""
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    client = NotebookClient(
        notebook,
        kernel_name=name,
        timeout=SECONDS,
        startup_timeout=SECONDS,
        resources={"metadata": {"path": str(folder)}},
    )
    with client.setup_kernel():
        client.execute_cell(notebook.cells[0], 0)
        begun = time.monotonic()
    return {"seen": notebook.cells[0].outputs[0]["text"], "seconds": time.monotonic() - begun}


class Kernel:
    """A kernel of jupyter_client, with one client."""

    def __init__(self, name: str, folder: Path, **options: Any) -> None:
        self.manager = KernelManager(kernel_name=name, **options)
        self.manager.start_kernel(cwd=str(folder))
        self.client: Any = None
        self.meet()

    @property
    def process(self) -> int:
        return int(self.manager.provisioner.process.pid)

    def meet(self) -> None:
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(SECONDS)

    def beats(self) -> bool:
        """Say whether the heart beats soon: Jupyter looks every few seconds."""
        deadline = time.monotonic() + 10
        while not self.client.hb_channel.is_beating() and time.monotonic() < deadline:
            time.sleep(0.1)
        return bool(self.client.hb_channel.is_beating())

    def run(self, code: str, at_first_output: Callable[[], object] = bool) -> dict[str, Any]:
        texts: list[str] = []

        def keep(message: dict[str, Any]) -> None:
            if message["msg_type"] == "stream":
                texts.append(message["content"]["text"])
                at_first_output()

        reply = self.client.execute_interactive(
            code, timeout=SECONDS, output_hook=keep, allow_stdin=False
        )
        return {"error": reply["content"].get("ename", ""), "text": "".join(texts)}


def with_jupyter_client(name: str, folder: Path, cell: str) -> dict[str, Any]:
    """Start, interrupt by message, restart, and kill in the middle of a cell; all encrypted."""
    kernel = Kernel(name, folder, transport_encryption="required")
    found: dict[str, Any] = {"seen": kernel.run(cell)["text"]}
    os.kill(kernel.process, signal.SIGINT)  # as who knows of no messages
    interrupted = kernel.run("kept = 1\n" + SLEEP, kernel.manager.interrupt_kernel)
    found["interrupted"] = interrupted["error"]
    found["kept"] = kernel.run("print(kept)")["text"]
    found["beats"] = kernel.beats()
    lines = "for number in range(3000): print(number, flush=True)"
    found["lines"] = len(kernel.run(lines)["text"].split())
    found["memory"] = kernel.run("kept = bytearray(5 * 2**30)")["error"]
    first = kernel.process
    kernel.client.stop_channels()
    kernel.manager.restart_kernel()
    kernel.meet()
    found["process"] = kernel.process
    found["another"] = first != kernel.process
    found["forgotten"] = kernel.run("kept")["error"]
    kernel.client.execute(SLEEP)
    while kernel.client.get_iopub_msg(SECONDS)["msg_type"] != "stream":
        pass
    kernel.manager.shutdown_kernel(now=True)
    time.sleep(5)  # somebody else clears up
    return found


def in_jupyter(name: str, folder: Path, cell: str) -> dict[str, Any]:
    """Run the cell in a kernel of Jupyter's server, and kill that."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    options = (f"--ServerApp.root_dir={folder}", f"--port={port}", "--ServerApp.port_retries=0")
    options = (*options, f"--IdentityProvider.token={token}", "--ServerApp.allow_root=True")
    server = subprocess.Popen(
        [SERVER, "--no-browser", "--ip=127.0.0.1", *options],
        cwd=folder,
    )
    address = f"127.0.0.1:{port}/api/kernels"
    body = json.dumps({"name": name}).encode()
    request = urllib.request.Request(f"http://{address}?token={token}", body)
    number = json.loads(_answer(request))["id"]
    socket_address = f"ws://{address}/{number}/channels?token={token}"
    seen = IOLoop.current().run_sync(lambda: _run_in_page(socket_address, cell), SECONDS)
    server.kill()
    server.wait()
    time.sleep(3)  # the kernel finds that out by itself
    return {"seen": seen}


def _answer(request: urllib.request.Request) -> bytes:
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return bytes(answer.read())
        except ConnectionError:
            assert time.monotonic() < deadline
        except urllib.error.URLError as error:
            assert isinstance(error.reason, ConnectionError), error
            assert time.monotonic() < deadline
        time.sleep(0.1)


async def _run_in_page(address: str, cell: str) -> str:
    """Run a cell as Jupyter's page does; return what it has printed."""
    connection = await websocket_connect(HTTPRequest(address))
    header = {"msg_id": "1", "msg_type": "execute_request", "session": "1", "username": ""}
    header |= {"version": "5.3", "date": "2026-01-01T00:00:00Z"}
    content = {"code": cell, "silent": False, "store_history": False, "allow_stdin": False}
    message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
    await connection.write_message(json.dumps({**message, "channel": "shell", "buffers": []}))
    texts: list[str] = []
    while True:
        text = await connection.read_message()
        received = json.loads(text)
        if received["parent_header"].get("msg_id") == "1":
            if received["msg_type"] == "stream":
                texts.append(received["content"]["text"])
            if received["content"].get("execution_state") == "idle":
                return "".join(texts)


WAYS: dict[str, Callable[[str, Path, str], dict[str, Any]]] = {
    "nbclient": with_nbclient,
    "jupyter_client": with_jupyter_client,
    "jupyter": in_jupyter,
}

if __name__ == "__main__":
    way, name, folder, cell = sys.argv[1:]
    print(json.dumps(WAYS[way](name, Path(folder), Path(cell).read_text())))
