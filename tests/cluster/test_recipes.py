"""The recipes of docs/cluster.md, as far as they can be tried without SLURM and Kubernetes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import dask
import kubernetes_validate
import pytest
import typer
import yaml
from dask_jobqueue import SLURMCluster
from distributed import Client
from distributed.cli import dask_scheduler
from distributed.security import Security

from grader.cli.cluster import cluster as commands
from grader.cluster.address import PRELOAD
from grader.cluster.dispatch import workers_of
from tests.cluster.farm import ROOT, named_by_settings

PAGE = (ROOT / "docs" / "cluster.md").read_text()
VERSIONS = ("1.28", "1.32", "1.36")
"""Of Kubernetes: an old one, one that many have, a new one."""

pytestmark = pytest.mark.filterwarnings(  # what Dask leaves to the collector
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def recipe(heading: str, language: str) -> str:
    """Return the one block of code below a heading."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    (text,) = [each for each in section if each.startswith(f"{heading}\n")]
    (code,) = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(code)


def settings(variables: dict[str, str]) -> dict[str, object]:
    """Return Dask's settings that variables are, by their whole names."""
    return dict(_flat(dask.config.collect(paths=[], env=variables)))


def _flat(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@pytest.fixture(scope="module")
def tls(certificate: Path) -> dict[str, str]:
    return named_by_settings(certificate)


@pytest.fixture(scope="module")
def made(tls: dict[str, str]) -> Iterator[SLURMCluster]:
    code = recipe("SLURM", "python").replace("tls://10.0.0.5:8786", "tls://127.0.0.1:0")
    defined, _, rest = code.partition("cluster.scale")
    assert rest.startswith("(jobs=")  # that would call sbatch
    names: dict[str, Any] = {}
    with dask.config.set(settings(tls)):
        exec(compile(defined, "recipe", "exec"), names)
        with closing(names["cluster"]) as cluster:
            yield cluster


class TestSlurm:
    """The cluster is made as the recipe does, on loopback; what would be submitted is read."""

    def test_the_job_script_asks_for_a_node_and_starts_one_worker(self, made: SLURMCluster) -> None:
        script = made.job_script()
        asked = re.findall(r"^#SBATCH (.*)$", script, re.MULTILINE)
        assert {"-n 1", "--cpus-per-task=8", "-t 04:00:00", "--exclusive"} <= {*asked}
        (command,) = [line for line in script.splitlines() if "dask_worker" in line]
        assert "--nthreads 8 --memory-limit 29.80GiB" in command
        assert command.index("--memory-limit 0 ") > command.index("29.80GiB")  # the last one counts
        assert f"--preload-nanny {PRELOAD} --preload {PRELOAD}" in command
        assert f"dask_worker {made.scheduler_address}" in command

    def test_the_job_script_names_a_folder_for_dask_that_no_other_user_has_made(
        self, made: SLURMCluster
    ) -> None:
        named, exported, worker = made.job_script().splitlines()[-3:]
        assert "DASK_TEMPORARY_DIRECTORY=$(mktemp -d)" == named
        assert "export DASK_TEMPORARY_DIRECTORY" == exported
        assert "dask_worker" in worker and "--local-directory" not in worker

    def test_shells_have_nothing_against_the_job_script(self, made: SLURMCluster) -> None:
        done = subprocess.run(
            [Path(sys.executable).with_name("shellcheck"), "--shell", "bash", "-"],
            input=made.job_script().encode(),
            capture_output=True,
        )
        assert (0, b"") == (done.returncode, done.stdout)

    def test_the_worker_that_the_job_script_starts_joins_with_what_it_grades_with(
        self, made: SLURMCluster, tls: dict[str, str]
    ) -> None:
        assert made.scheduler_address.startswith("tls://")
        job = subprocess.Popen(
            ["bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **tls},
            start_new_session=True,
        )
        try:
            assert job.stdin is not None
            job.stdin.write(made.job_script().encode())
            job.stdin.close()
            with dask.config.set(settings(tls)):
                security = Security(require_encryption=True)
            with Client(made.scheduler_address, security=security, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=120)
                (worker,) = workers_of(client)
        finally:
            os.killpg(job.pid, signal.SIGTERM)
            job.wait(60)
        assert 8 == worker.threads
        assert worker.facts is not None


class TestKubernetes:
    MANIFESTS = tuple(yaml.safe_load_all(recipe("Kubernetes", "yaml")))

    @pytest.mark.parametrize("version", VERSIONS)
    def test_the_manifests_fit_the_published_schemas(self, version: str) -> None:
        for manifest in self.MANIFESTS:
            kubernetes_validate.validate(manifest, desired_version=version, strict=True)

    def test_a_manifest_with_a_mistake_does_not(self) -> None:
        manifest = {**self.MANIFESTS[0], "replicas": 4}
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(manifest, desired_version=VERSIONS[0], strict=True)

    def test_all_that_is_started_is_a_command_that_there_is(self) -> None:
        words = {each["name"]: each["args"] for each in self.containers()}
        assert {"scheduler", "worker"} == words.keys()
        assert ["dask", "scheduler"] == words["scheduler"][:2]
        dask_scheduler.main.make_context("dask", words["scheduler"][2:])
        assert ["grader", "cluster"] == words["worker"][:2]
        group = typer.main.get_command(commands)
        name, command, rest = group.resolve_command(  # type: ignore[attr-defined]
            group.make_context("cluster", words["worker"][2:]), words["worker"][2:]
        )
        assert "worker" == name
        asked = command.make_context("worker", rest)
        assert {
            "scheduler": "tls://grader-scheduler:8786",
            "jobs": 4,
        }.items() <= asked.params.items()

    def test_workers_find_the_scheduler_by_its_service(self) -> None:
        scheduler, service, _ = self.MANIFESTS
        assert service["metadata"]["name"] == "grader-scheduler"
        labels = scheduler["spec"]["template"]["metadata"]["labels"]
        assert service["spec"]["selector"].items() <= labels.items()
        (port,) = service["spec"]["ports"]
        (opened,) = self.containers()[0]["ports"]
        assert (8786, opened["name"]) == (port["port"], port["targetPort"])
        assert str(opened["containerPort"]) in self.containers()[0]["args"]

    def test_every_setting_is_one_of_dask_s_and_names_a_file_of_the_secret(self) -> None:
        for container in self.containers():
            (mount,) = container["volumeMounts"]
            named = {each["name"]: each["value"] for each in container["env"]}
            for key, value in settings(named).items():
                dask.config.get(key)  # raises KeyError for what Dask does not know
                assert value is True or str(value).startswith(f"{mount['mountPath']}/")

    def containers(self) -> list[dict[str, Any]]:
        pods = [each["spec"]["template"] for each in self.MANIFESTS if each["kind"] == "Deployment"]
        return [container for pod in pods for container in pod["spec"]["containers"]]
