"""Throws thousands of damaged inputs at every decoder of what comes from outside.

What is drawn and what may be raised is the same as in tests/properties; here it is ten thousand
examples each, with fresh randomness in every run. A failure is shrunk and printed.

    python benchmarks/decoders.py [--examples 10000] [--only NAME] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hypothesis import HealthCheck, given, settings

from tests.properties.decoders import SUBJECTS, Subject

PROGRESS_EVERY = 500


def run_subject(subject: Subject, examples: int) -> dict[str, object]:
    """Check a decoder. Returns what was measured; `failure` is empty when nothing went wrong."""
    slowest, count = 0.0, 0

    def once(value: Any) -> None:
        nonlocal slowest, count
        start = time.perf_counter()
        subject.check(value)
        slowest = max(slowest, time.perf_counter() - start)
        count += 1
        if count % PROGRESS_EVERY == 0:
            print(f"{subject.name}: {count} examples", file=sys.stderr)

    start = time.perf_counter()
    failure = _first_failure(_prepared(subject, once, examples))
    return {
        "examples": count,
        "seconds": round(time.perf_counter() - start, 1),
        "slowest_ms": round(slowest * 1000, 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "failure": failure,
    }


def _prepared(subject: Subject, once: Callable[[Any], None], examples: int) -> Callable[[], None]:
    limits = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    prepared: Callable[[], None] = limits(given(subject.inputs())(once))
    return prepared


def _first_failure(run: Callable[[], None]) -> str:
    try:
        run()
    except Exception as error:  # noqa: BLE001  any error but the decoder's own is what is looked for
        notes = " ".join(getattr(error, "__notes__", []))
        return f"{type(error).__name__}: {error} {notes}"[:2000]
    return ""


def main() -> None:
    """Print one line for each decoder. Exit code 1 when one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--only", choices=[subject.name for subject in SUBJECTS])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    results = {}
    for subject in SUBJECTS:
        if arguments.only in (None, subject.name):
            result = results[subject.name] = run_subject(subject, arguments.examples)
            verdict = "FAILED" if result["failure"] else "ok"
            print(
                f"{subject.name:10} {result['examples']:7} examples {result['seconds']:8} s"
                f"  slowest {result['slowest_ms']:8} ms  {verdict}",
                flush=True,
            )
            if result["failure"]:
                print(f"    {result['failure']}")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    if any(result["failure"] for result in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
