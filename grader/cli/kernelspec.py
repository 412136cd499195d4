"""`grader kernelspec`: a sandboxed kernel for Jupyter and what else starts kernels."""

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from grader.cli.options import Commands, argument, flag, option
from grader.cli.telling import tell
from grader.environment import need_for_grading
from grader.language import say

kernelspec = Commands(help="Install a sandboxed kernel for Jupyter, nbconvert and papermill.")

UserOption = Annotated[bool, flag("--user", "For every Jupyter of this user.")]
PrefixOption = Annotated[Path | None, option("DIR", "For the Jupyter of the environment DIR.")]
NameOption = Annotated[str, option("NAME", "Name of the kernel.")]
LevelOption = Annotated[
    Literal["strong", "container", "basic"] | None,
    option(
        "LEVEL",
        "Require an isolation level: strong, container or basic (default: the strongest that"
        " works when a kernel starts).",
    ),
]


@kernelspec.command()
def install(
    user: UserOption = False,
    prefix: PrefixOption = None,
    name: NameOption = "grader",
    sandbox: LevelOption = None,
) -> None:
    """Install a Jupyter kernel that runs notebooks as grading does.

    It has no network and none of your files. By default it is for this environment's Jupyter.

    Examples:
        grader kernelspec install
        grader kernelspec install --user --name sandbox
    """
    need_for_grading()  # notebooks would lack what they import
    from grader.kernelspec.install import DISPLAYED, KernelspecPlace
    from grader.kernelspec.install import install as put
    from grader.sandbox.choose import choose_sandbox

    place = KernelspecPlace(user, prefix)
    place.folder()
    with choose_sandbox(sandbox, minimum=sandbox or "basic") as chosen:
        level, detail = chosen.level, chosen.detail
    folder = put(place, name, sandbox)
    tell(
        Console(emoji=False),
        str(folder / "kernel.json"),
        say("sandbox-here", level=level, detail=detail),
        say("next-choose-in-jupyter-or-name", name=DISPLAYED),
        f"jupyter nbconvert --execute --to html --ExecutePreprocessor.kernel_name={name} hw.ipynb",
    )


@kernelspec.command()
def remove(
    user: UserOption = False, prefix: PrefixOption = None, name: NameOption = "grader"
) -> None:
    """Remove the kernel (default: wherever Jupyter finds it).

    Examples:
        grader kernelspec remove
        grader kernelspec remove --name sandbox
    """
    need_for_grading()
    from grader.kernelspec.install import KernelspecPlace
    from grader.kernelspec.install import remove as take

    for folder in take(KernelspecPlace(user, prefix), name):
        tell(Console(emoji=False), say("removed", folder=str(folder)))


@kernelspec.command(hidden=True)
def start(
    connection: Annotated[Path, argument("FILE", "Jupyter's connection file.")],
    sandbox: LevelOption = None,
) -> None:
    """Run as a kernel. Jupyter calls this command."""
    from grader.kernelspec.serve import serve

    raise typer.Exit(serve(connection, sandbox))
