"""What of the grader is in a sandbox, and how it is started there."""

from __future__ import annotations

import ast

import pytest

from grader.sandbox.interface import Command, Sandbox
from grader.sandbox.shipping import shipped, start_arguments


@pytest.mark.parametrize("package", ["kernel", "runner"])
class TestShipped:
    def test_it_is_one_package_with_the_messages(self, package: str) -> None:
        files = shipped(package)  # type: ignore[arg-type]
        assert {"/run/grader/grader/__init__.py", "/run/grader/grader/messages.py"} < set(files)
        others = {name for name in files if name.count("/") > 4}
        assert f"/run/grader/grader/{package}/__init__.py" in others
        assert {name.split("/")[4] for name in others} == {package}

    def test_it_imports_nothing_of_the_grader_but_itself(self, package: str) -> None:
        allowed = ("grader.messages", f"grader.{package}")
        for name, content in shipped(package).items():  # type: ignore[arg-type]
            for node in ast.walk(ast.parse(content)):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("grader"):
                    assert str(node.module).startswith(allowed), name


class TestStartArguments:
    def test_main_gets_the_arguments(self, sandbox: Sandbox) -> None:
        source = b"import sys\ndef main(arguments): sys.stderr.write(repr((arguments, sys.argv)))\n"
        files = {"/run/grader/package/__init__.py": b"", "/run/grader/package/tool.py": source}
        command = Command(start_arguments("package.tool", "3", "x y"), files=files)
        process = sandbox.start(command)
        assert process.wait(20) == 0
        assert process.standard_error == "(['3', 'x y'], ['-c'])"
