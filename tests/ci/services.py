"""What the services do with a recipe: its steps, run in order as their runners run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from grader.ci.recipes import GITHUB
from tests.ci.repository import BRANCH, Repository

ENVIRONMENT = Path(sys.prefix)
"""The environment that the tests run in has the grader: the recipes' variable for one names it."""

ZEROS = "0" * 40
SECONDS = 900


@dataclass(frozen=True)
class Outcome:
    """What a job came to: whether it succeeded, all that it printed, and its job summary."""

    succeeded: bool
    log: str
    summary: str = ""


class Strict(yaml.SafeLoader):
    """Reads YAML as GitHub does: `on` is no truth value."""


Strict.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in pairs if tag != "tag:yaml.org,2002:bool"]
    for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
Strict.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(true|false)$"), list("tf"))


def load(path: Path) -> Any:
    """Return the content of a YAML file."""
    return yaml.load(path.read_text(), Strict)


class GitHub:
    """Runs the steps of a workflow that have commands; actions of others are left out.

    `home` is where the recipe makes its environment; without it the tests' own one is used.
    """

    def __init__(
        self,
        repository: Repository,
        folder: Path,
        home: Path | None = None,
        *,
        workflow: Path = GITHUB,
        job: str = "grade",
    ) -> None:
        self._repository = repository
        self._home = home
        self._folder = folder
        self.temporary = folder / "temporary"
        self.temporary.mkdir(parents=True)
        document = load(repository.path / workflow)
        self._steps = document["jobs"][job]["steps"]
        self._environment = document["env"]
        self._outputs: dict[str, dict[str, str]] = {}
        self.secrets: dict[str, str] = {}
        self._path: list[str] = []

    def run(
        self, event: Mapping[str, Any], branch: str = BRANCH, until: str = "", without: str = ""
    ) -> Outcome:
        """Run the job for an event, to the end of the step `until`, leaving out one `without`."""
        self._context: dict[str, Any] = {
            "github": {"event": {"repository": {"default_branch": BRANCH}, **event}},
            "secrets": self.secrets,
            "vars": {"GRADER_ENVIRONMENT": "" if self._home else str(ENVIRONMENT)},
            "steps": self._outputs,
        }
        job = {key: self._expand(value) for key, value in self._environment.items()}
        self._context["env"] = job
        log, succeeded = "", True
        for step in self._steps:
            if "run" in step and step["name"] != without and self._applies(step, succeeded):
                done = self._step(step, {**job, "GITHUB_REF_NAME": branch})
                succeeded = succeeded and done.returncode == 0
                log += done.stdout
            if step["name"] == until:
                break
        summary = "".join(path.read_text() for path in sorted(self._folder.glob("summary*")))
        return Outcome(succeeded, log, summary)

    def _applies(self, step: dict[str, Any], succeeded: bool) -> bool:
        condition = step.get("if", "")
        if "always()" not in condition and not succeeded:
            return False
        parts = [part for part in condition.split(" && ") if part and part != "always()"]
        return all(self._value(part) for part in parts)

    def _step(self, step: dict[str, Any], job: Mapping[str, str]) -> Any:
        number = len(list(self._folder.glob("summary*")))
        files = {
            "GITHUB_OUTPUT": self._folder / "output",
            "GITHUB_STEP_SUMMARY": self._folder / f"summary{number:02}",
            "GITHUB_PATH": self._folder / "path",
        }
        for path in files.values():
            path.write_text("")
        script = self._folder / "step.sh"
        script.write_text(step["run"])
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self._repository.path,
            env={
                **self._base(),
                **job,
                **{key: self._expand(value) for key, value in step.get("env", {}).items()},
                **{key: str(path) for key, path in files.items()},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
        lines = files["GITHUB_OUTPUT"].read_text().splitlines()
        outputs = dict(line.split("=", 1) for line in lines)
        self._outputs[step.get("id", step["name"])] = {"outputs": outputs}
        self._path = files["GITHUB_PATH"].read_text().splitlines() + self._path
        return done

    def _base(self) -> dict[str, str]:
        usual = os.environ["PATH"].split(":")
        # The runner has no grader but the one that the recipe puts there, and no test may change
        # the machine that it runs on.
        without = [each for each in usual if each != str(ENVIRONMENT / "bin")]
        powerless = self._folder / "powerless"
        powerless.mkdir(exist_ok=True)
        (powerless / "sudo").unlink(missing_ok=True)
        (powerless / "sudo").symlink_to("/bin/false")
        return {
            **os.environ,
            "PATH": ":".join([str(powerless), *self._path, *without]),
            "HOME": str(self._home or self._repository.home),
            "PIP_NO_INDEX": "1",  # what is locked is there already
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_WORKSPACE": str(self._repository.path),
            "GRADER_DATA": "builtin",
        }

    def _expand(self, value: Any) -> str:
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: self._value(match[1]) or "", str(value))

    def _value(self, expression: str) -> Any:
        """Return what an expression of the recipes means; they have no parentheses here."""
        for operator in (" != ", " == "):
            if operator in expression:
                left, right = (self._value(side) for side in expression.split(operator))
                return (left == right) == (operator == " == ")
        if " || " in expression:
            first, rest = expression.split(" || ", 1)
            return self._value(first) or self._value(rest)
        if expression.startswith("'"):
            return expression.strip("'")
        found: Any = self._context
        for name in expression.split("."):
            found = found.get(name, {}) if isinstance(found, dict) else {}
        return found or ""


class GitLab:
    """Runs the job of a pipeline."""

    def __init__(self, repository: Repository, folder: Path) -> None:
        self._repository = repository
        self.temporary = folder / "temporary"
        self.temporary.mkdir(parents=True)
        self._job = load(repository.path / ".gitlab-ci.yml")["grade"]

    def run(self, variables: Mapping[str, str], branch: str = BRANCH, until: int = 99) -> Outcome:
        """Run the job with GitLab's variables, up to its block number `until`."""
        blocks = [*self._job["before_script"], *self._job["script"]][:until]
        project = str(self._repository.path)
        own = {
            key: str(value).replace("$CI_PROJECT_DIR", project)
            for key, value in self._job["variables"].items()
        }
        done = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", "\n".join(blocks)],
            cwd=project,
            env={
                **os.environ,
                "HOME": str(self._repository.home),
                "TMPDIR": str(self.temporary),
                "CI_PROJECT_DIR": project,
                "CI_DEFAULT_BRANCH": BRANCH,
                "CI_COMMIT_REF_NAME": branch,
                "GRADER_DATA": "builtin",
                **own,
                "GRADER_ENVIRONMENT": str(ENVIRONMENT),
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=SECONDS,
        )
        return Outcome(done.returncode == 0, done.stdout)
