"""`grader doctor`: what this machine offers for grading."""

from __future__ import annotations

from rich.console import Console

from grader.environment import describe_environment
from grader.errors import SandboxError
from grader.sandbox.choose import choose_sandbox


def examine(console: Console) -> bool:
    """Print what was found. Returns whether submissions can be graded here."""
    environment = describe_environment()
    console.print(f"Python    {environment.python}", highlight=False)
    console.print(f"CPU       {environment.cpu}, {environment.cores} cores", highlight=False)
    for name, version in environment.packages.items():
        console.print(f"          {name} {version}", highlight=False, markup=False)
    try:
        sandbox = choose_sandbox()
    except SandboxError as error:
        console.print(f"Sandbox   none: {error.message}", highlight=False, markup=False)
        console.print(f"          {error.hint}", highlight=False, markup=False)
        return False
    console.print(f"Sandbox   {sandbox.level}: {sandbox.detail}", highlight=False, markup=False)
    return True
