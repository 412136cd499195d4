"""Folders for temporary files outlive nobody for long."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.files import OwnFolder, sweep

KILLED = """
import os, signal, sys
from grader.files import OwnFolder
folder = OwnFolder(place=sys.argv[1])
(folder.path / "kernel-1").touch()
os.kill(os.getpid(), signal.SIGKILL)
"""

UNLOCKED = """
import os, resource, sys
from grader.files import OwnFolder
files = len(os.listdir("/proc/self/fd")) - 1
resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
try:
    OwnFolder(place=sys.argv[1])
except OSError as error:
    print(error.strerror)
"""

IMPATIENT = """
import os, signal, sys, threading, time
from pathlib import Path
from grader.files import remove_tree

def interrupt():
    while not gone:
        os.killpg(0, signal.SIGINT)
        time.sleep(0.001)

folder, gone = Path(sys.argv[1]), []
signal.signal(signal.SIGINT, lambda *_: None)
threading.Thread(target=interrupt, daemon=True).start()
remove_tree(folder)
gone.append(True)
print(folder.exists())
"""


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """The folder of a process that was killed."""
    subprocess.run([sys.executable, "-c", KILLED, tmp_path])
    (folder,) = tmp_path.iterdir()
    return folder


def test_what_a_killed_process_left_is_removed(left: Path) -> None:
    assert (left / "kernel-1").exists()
    sweep([str(left.parent)])
    assert not left.exists()


def test_what_is_in_use_stays(left: Path) -> None:
    own = OwnFolder(place=str(left.parent))
    sweep([str(left.parent)])
    assert [own.path] == list(left.parent.iterdir())
    own.remove()
    own.remove()
    assert [] == list(left.parent.iterdir())


def test_what_could_not_be_locked_is_removed_at_once(tmp_path: Path) -> None:
    """Nobody would do so later: what has no lock may be one that is being made."""
    done = subprocess.run(
        [sys.executable, "-c", UNLOCKED, tmp_path], capture_output=True, text=True, check=True
    )
    assert "Too many open files\n" == done.stdout
    assert [] == list(tmp_path.iterdir())


def test_what_is_not_ours_or_looks_like_it_stays(left: Path, tmp_path: Path) -> None:
    (tmp_path / "grader-plain").mkdir()
    (tmp_path / "grader-linked").symlink_to(left)
    (tmp_path / "other-folder").mkdir()
    (tmp_path / "other-folder/.lock").touch()
    (tmp_path / "grader-pipe").mkdir()
    os.mkfifo(tmp_path / "grader-pipe/lock")
    before = set(tmp_path.iterdir())
    sweep([str(tmp_path)])
    assert before - {left} == set(tmp_path.iterdir())


def test_a_place_that_cannot_be_read_is_no_obstacle(tmp_path: Path) -> None:
    sweep([str(tmp_path / "nowhere")])


def test_more_interrupts_do_not_keep_a_folder_from_being_removed(tmp_path: Path) -> None:
    """Ctrl-C reaches all processes of the terminal's group; `rm` was ended by it once."""
    folder = tmp_path / "left"
    folder.mkdir()
    for number in range(500):
        (folder / str(number)).touch()
    command = [sys.executable, "-c", IMPATIENT, folder]
    done = subprocess.run(command, capture_output=True, text=True, start_new_session=True)
    assert "False\n" == done.stdout, done.stderr
