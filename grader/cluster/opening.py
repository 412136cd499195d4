"""Opening a batch on a cluster: the same door as that of a batch on this machine.

What is decided here once for all jobs: who may grade, the seed, and the course as it is sent.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from distributed import Client

from grader.batch.grading import Store
from grader.cluster.address import checked, quieten, security_of
from grader.cluster.dispatch import Dispatch, KnownWorker, workers_of
from grader.cluster.gradings import ClusterBatch, Elsewhere, Tell
from grader.cluster.jobs import ClusterOptions, Job, WantedWorker, WorkerFacts, digest_of, pack
from grader.cluster.station import grade_submission
from grader.course import CourseAssignment, find_course
from grader.environment import describe_environment, need_for_grading
from grader.errors import UsageError
from grader.files import sweep
from grader.grading.preparation import (
    GradingOptions,
    Settings,
    drawn_seed,
    settings_of,
    source_digest,
)
from grader.language import Text, below, say
from grader.sandbox.interface import LEVELS

CONNECT_SECONDS = 15.0
"""How long to try to reach a scheduler, also one that was there before."""

SHOWN = 5
"""So many workers that may not grade are named."""


class OpenCluster(NamedTuple):
    """A batch on a cluster, its settings, and the assignments that its submissions may be of; who
    grades, why each of the other workers does not, and where Dask shows what they do.
    """

    batch: ClusterBatch
    settings: Settings
    possible: tuple[CourseAssignment, ...]
    workers: tuple[KnownWorker, ...]
    left_out: tuple[Text, ...]
    dashboard: str


@contextmanager
def open_cluster(
    options: GradingOptions, cluster: ClusterOptions, store: Store
) -> Iterator[OpenCluster]:
    """Connect to a cluster for the gradings of one batch.

    Raises UsageError where there is no such course or scheduler, or no worker that may grade.
    """
    need_for_grading()
    if options.data not in (None, "builtin"):
        raise UsageError(
            say("clusters-workers-cannot-see-folder", data=options.data),
            say("set-grader-data-on-each-their-machines"),
        )
    sweep()
    course = find_course(options.course, (Path.cwd(),))
    possible = course.possible(options.assignment)
    with ExitStack() as clients:
        client = clients.enter_context(connected(cluster))
        wanted = _wanted(options, possible)
        workers = _wait_for(client, wanted, cluster.patience)
        if cluster.same_machine_type:
            wanted = wanted._replace(machine=_commonest(workers, wanted))
        useful, left_out = _sorted(workers, wanted)
        archive = pack(possible)
        job = _job(options, digest_of(archive))

        def again() -> Client:
            return clients.enter_context(connected(cluster))

        def start(tell: Tell) -> Dispatch:
            patience = cluster.patience
            return Dispatch(client, grade_submission, archive, wanted, tell, patience, again)

        levels = frozenset(each.facts.level for each in useful if each.facts is not None)
        # by which is known what an earlier run has graded
        settings = settings_of(options, Elsewhere(min(levels, key=LEVELS.index)), job.seed)
        batch = ClusterBatch(course, settings, store, job, start, levels, options.seed)
        yield OpenCluster(batch, settings, possible, useful, left_out, client.dashboard_link)


@contextmanager
def connected(cluster: ClusterOptions) -> Iterator[Client]:
    """Connect to a scheduler. Raises UsageError where nothing answers there."""
    address = checked(cluster.address, insecure=cluster.insecure)
    security = security_of(address)
    quieten()
    try:
        client = _Client(
            address,
            security=security,
            timeout=CONNECT_SECONDS,
            set_as_default=False,
            name="grader",
        )
    except (OSError, TimeoutError) as error:
        raise UsageError(
            say("no-scheduler-answers", address=address, error=type(error).__name__),
            say("start-one-as-with-grader-cluster-local"),
        ) from None
    try:
        yield client
    finally:
        _close(client)


class _Client(Client):  # type: ignore[misc]
    """One that does not outlive an interruption while it connects: when the process ends Dask would
    wait half a minute for a thread of it that is no more.
    """

    def start(self, **settings: Any) -> None:
        try:
            super().start(**settings)
        except KeyboardInterrupt:
            _close(self)
            raise


def _close(client: Client) -> None:
    """Close a client, also one that Dask failed to connect again: what ended its reading would be
    raised at each attempt to close it, by the collector also.
    """
    with suppress(TimeoutError):  # of workers that are busy to the end
        try:
            client.close(timeout=2)
        except AssertionError:
            client._handle_report_task = None
            client.close(timeout=2)


def _wanted(options: GradingOptions, possible: Iterable[CourseAssignment]) -> WantedWorker:
    minimum = min((each.assignment.sandbox.minimum for each in possible), key=LEVELS.index)
    here = WorkerFacts("none", describe_environment(), source_digest())
    return WantedWorker(here, minimum, options.sandbox)


def _wait_for(client: Client, wanted: WantedWorker, patience: float) -> tuple[KnownWorker, ...]:
    """Return who has joined, when one has. Raises UsageError when nobody does, or none that may."""
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        raise UsageError(
            say("cluster-has-no-workers"), say("start-one-on-each-machine-grader-cluster")
        ) from None
    workers = tuple(workers_of(client))
    useful, left_out = _sorted(workers, wanted)
    if not useful:
        raise UsageError(say("none-clusters-workers-may-grade"), below(*left_out[:SHOWN]))
    return workers


def _sorted(
    workers: Iterable[KnownWorker], wanted: WantedWorker
) -> tuple[tuple[KnownWorker, ...], tuple[Text, ...]]:
    """Return who may grade, and why each of the others may not."""
    why = [(each, wanted.lacks(each.address, each.facts)) for each in workers]
    useful = tuple(each for each, lack in why if not lack)
    return useful, tuple(lack for _, lack in why if lack)


def _commonest(workers: Iterable[KnownWorker], wanted: WantedWorker) -> str:
    """Return the type of machine that most gradings at a time fit on."""
    threads: Counter[str] = Counter()
    for each in _sorted(workers, wanted)[0]:
        assert each.facts is not None  # or it might not grade
        threads[each.facts.machine] += each.threads
    return threads.most_common(1)[0][0]


def _job(options: GradingOptions, digest: str) -> Job:
    """Return what all jobs have in common; name and content are each one's own."""
    return Job(
        name="",
        content=b"",
        course=digest,
        seed=drawn_seed(options),
        assignment=options.assignment,
        data="builtin" if options.data == "builtin" else None,
        language=options.language,
        dialect=options.dialect,
        preamble=options.preamble,
    )
