"""Which scheduler is spoken to, whether anybody on the way could listen; and one of this machine.

Whoever reaches a scheduler without TLS can run any program on it and on its workers, and read
hidden inputs. On the machine itself that is its users; on a network it is everybody.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import dask
from distributed import LocalCluster
from distributed.security import Security

from grader.errors import UsageError
from grader.language import say

_SCHEMES = ("tcp", "tls")


def checked(address: str, *, insecure: bool = False) -> str:
    """Return the address of a scheduler. Raises UsageError for none, and for one without TLS that
    is not on this machine, unless that was asked for (`insecure`).
    """
    try:
        parts = urlsplit(address)
        is_whole = parts.scheme in _SCHEMES and bool(parts.hostname) and bool(parts.port)
    except ValueError:  # of the port
        is_whole = False
    if not is_whole:
        raise UsageError(
            say("{address} is no address of a scheduler.", address=address),
            say("It is as its log says, such as tls://10.0.0.5:8786."),
        )
    if parts.scheme == "tcp" and not insecure and not _is_here(str(parts.hostname)):
        raise UsageError(
            say(
                "{address} has no TLS: whoever reaches it can read hidden inputs and submissions,"
                " and run programs on its workers.",
                address=address,
            ),
            say(
                "Give the cluster certificates and name it as tls://, see docs/cluster.md; or add"
                " --insecure if nobody else is on that network."
            ),
        )
    return address


def security_of(address: str) -> Security:
    """Return Dask's own settings for an address, which name certificates: docs/cluster.md.

    Raises UsageError where TLS is asked for, and they name none.
    """
    is_encrypted = address.startswith("tls://")
    security = Security(require_encryption=is_encrypted)
    files = (security.tls_ca_file, security.tls_client_cert, security.tls_client_key)
    if is_encrypted:
        for name, path in zip(("ca-file", "client.cert", "client.key"), files, strict=True):
            _need(f"distributed.comm.tls.{name}", path)
    return security


def _need(setting: str, path: str | None) -> None:
    if path is None or not Path(path).is_file():
        raise UsageError(
            say(
                "For tls:// Dask's setting {setting} must name a file that is there.",
                setting=setting,
            ),
            say("docs/cluster.md says how certificates are made and named."),
        )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# A cluster on this machine: a scheduler and some workers, for trying and for tests.
#
# Its workers are processes of one machine, and each grades one submission at a time. Where speed
# counts, one worker with several threads times better: the others of its process are quiet then.


PRELOAD = "grader.cluster.preload"
LOOPBACK = "127.0.0.1"

FEW_LOOKS = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
"""Settings of Dask. It would look a hundred times a second at which line each thread is, and fifty
times whether the loop of events is held up: a tenth of what a worker of one thread has to give."""


@contextmanager
def local_cluster(workers: int, port: int, level: str | None = None) -> Iterator[LocalCluster]:
    """Start a scheduler on loopback, on a free port if it is 0, and workers; end them at the end.

    Raises UsageError where the port is taken, or no worker can grade.
    """
    try:
        dask.config.set(FEW_LOOKS)
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host=LOOPBACK,
            scheduler_port=port,
            dashboard_address=f"{LOOPBACK}:0",
            memory_limit=0,  # the grader has limits of its own, and knows what to do at them
            preload=[PRELOAD],
            preload_argv=[] if level is None else ["--level", level],
            preload_nanny=[PRELOAD],
        )
    except (OSError, RuntimeError) as error:
        raise UsageError(
            say("The cluster cannot be started: {error}.", error=type(error).__name__),
            say("Choose another port, and see what `grader doctor` says."),
        ) from None
    with cluster:
        yield cluster
