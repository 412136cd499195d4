"""Our calls of a student's function leave the notebook as it was, and are not heard."""

from __future__ import annotations

from typing import Any

import pytest
import tvm
from IPython.core.displaypub import CapturingDisplayPublisher

from grader.inside.kernel.capture import isolated
from tests.inside.kernel.conftest import Notebook


def define(body: str) -> str:
    """Return an entry point that does something and returns a module."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"def create_model_via_emit_te():\n{lines}    return build_model()\n"


class TestNothingIsHeard:
    @pytest.mark.parametrize(
        "noise",
        [
            "print('noise')",
            "import sys; sys.stderr.write('noise'); sys.stdout.buffer.write(b'noise')",
            "import os; os.write(1, b'noise'); os.write(2, b'noise')",
            "from IPython.display import display; display('noise')",
            "import warnings; warnings.warn('noise')",
            "import logging; logging.getLogger().error('noise')",
            "build_model().show()",
            "import traceback\ntry: 1 / 0\nexcept ZeroDivisionError: traceback.print_exc()",
            "get_ipython().run_cell('print(1); 1 / 0')",
        ],
    )
    def test_whatever_a_function_prints(
        self, notebook: Notebook, capfd: pytest.CaptureFixture[str], noise: str
    ) -> None:
        notebook.run(define(noise))
        assert capfd.readouterr() == ("", "")
        assert len(notebook.captures("emit_te")) == 1

    def test_what_tvm_prints_when_half_a_builder_is_freed(
        self, notebook: Notebook, capfd: pytest.CaptureFixture[str]
    ) -> None:
        notebook.run(
            "def create_model_via_emit_te():\n    bb = relax.BlockBuilder()\n"
            "    x = relax.Var('x', R.Tensor((4, 4), 'float32'))\n"
            "    with bb.function('main', [x]):\n        with bb.dataflow():\n"
            "            bb.emit(relax.op.matmul(x, undefined))\n"
        )
        assert capfd.readouterr() == ("", "")
        assert [each.error_name for each in notebook.failures("emit_te")] == ["NameError"]

    def test_what_goes_past_the_streams(self, notebook: Notebook) -> None:
        notebook.shell.display_pub = CapturingDisplayPublisher()
        notebook.run("import io, logging; log = io.StringIO(); logger = logging.getLogger('mine')")
        notebook.run("logger.addHandler(logging.StreamHandler(log))")
        notebook.run(
            define("from IPython.display import display\ndisplay(1); logger.error('noise')")
        )
        assert notebook.shell.display_pub.outputs == []
        assert notebook.run("log.getvalue()").result == ""
        notebook.run("display(1); logger.error('own')")
        assert len(notebook.shell.display_pub.outputs) == 1
        assert notebook.run("log.getvalue()").result == "own\n"

    def test_the_cells_own_output_is_shown(
        self, notebook: Notebook, capfd: pytest.CaptureFixture[str]
    ) -> None:
        notebook.run(define("print('noise')") + "print('own')")
        notebook.run("print('next')")
        assert capfd.readouterr().out == "own\nnext\n"


class TestNothingIsChanged:
    def test_names_are_put_back(self, notebook: Notebook) -> None:
        notebook.run("a = [1]; b = 2")
        notebook.run(define("global a, b, c\na = c = 5\ndel b"))
        assert notebook.run("(a, b, 'c' in globals())").result == ([1], 2, False)

    def test_the_shells_history_is_its_own(self, notebook: Notebook) -> None:
        notebook.run("40 + 2")
        notebook.run(define("pass"))
        assert notebook.run("(_, Out[3], len(In), _ih[3])").result == (42, 42, 6, "40 + 2")

    def test_modules_and_schedules_are_copies(self, notebook: Notebook) -> None:
        notebook.run("mod = build_model(); s = tvm.s_tir.Schedule(mod)")
        notebook.run("block = s.get_sblock('conv2d_nchw', func_name='conv2d')")
        notebook.run(
            define(
                "mod.update_func(mod.get_global_var('relu'), mod['relu'].with_attr('a', 1))\n"
                "s.parallel(s.get_loops(block)[0])"
            )
        )
        assert notebook.failures("emit_te") == []
        assert notebook.run("('a' in (mod['relu'].attrs or {}), len(s.trace.insts))").result == (
            False,
            1,
        )

    def test_a_schedule_that_cannot_be_copied_stops_no_entry_point(
        self, notebook: Notebook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """TVM cannot copy a schedule in which something was tensorized."""

        def copy(self: Any) -> Any:
            raise RuntimeError("unordered_map::at")

        notebook.run("s = tvm.s_tir.Schedule(build_model())")
        monkeypatch.setattr(tvm.s_tir.Schedule, "copy", copy)
        notebook.run(define("pass"))
        assert 1 == len(notebook.captures("emit_te"))

    @pytest.mark.parametrize(
        ("seed", "draw"),
        [
            ("__import__('random').seed(3)", "__import__('random').random()"),
            ("np.random.seed(3)", "float(np.random.rand())"),
            ("torch.manual_seed(3)", "float(torch.rand(()))"),
            ("g = np.random.default_rng(3)", "float(g.random())"),
            ("g = np.random.RandomState(3)", "float(g.rand())"),
            ("g = __import__('random').Random(3)", "g.random()"),
            ("g = torch.Generator().manual_seed(3)", "float(torch.rand((), generator=g))"),
        ],
    )
    def test_random_numbers_come_as_without_us(
        self, notebook: Notebook, seed: str, draw: str
    ) -> None:
        notebook.run(f"{seed}\nexpected = {draw}")
        notebook.run(f"{seed}\n" + define(draw))
        assert notebook.run(f"{draw} == expected").result is True

    def test_folder_target_and_block_builders(
        self, notebook: Notebook, capfd: pytest.CaptureFixture[str]
    ) -> None:
        notebook.run("import os; before = os.getcwd()")
        notebook.run(
            define(
                "os.chdir('/')\ntvm.target.Target('llvm').__enter__()\n"
                "relax.BlockBuilder().function('f', []).__enter__()"
            )
        )
        assert capfd.readouterr() == ("", "")  # TVM warns when half a builder is freed
        assert notebook.run("os.getcwd() == before").result is True
        assert notebook.run("tvm.target.Target.current()").result is None
        assert notebook.run("relax.BlockBuilder.current()").result is None

    def test_a_target_that_the_notebook_entered_stays(self, notebook: Notebook) -> None:
        notebook.run("scope = tvm.target.Target('llvm').__enter__()")
        notebook.run(define("tvm.target.Target('c').__enter__()"))
        assert notebook.run("tvm.target.Target.current().same_as(scope)").result is True
        notebook.run("scope.__exit__(None, None, None)")

    def test_figures_do_not_pile_up(self, notebook: Notebook) -> None:
        notebook.run(
            "import matplotlib; matplotlib.use('agg')\nfrom matplotlib import pyplot as plt"
        )
        notebook.run("mine = plt.figure()")
        notebook.run(define("plt.figure(); plt.plot([1]); plt.show()"))
        assert notebook.run("plt.get_fignums()").result == [1]
        notebook.run("plt.close('all')")

    def test_a_folder_that_was_removed_is_no_obstacle(self, notebook: Notebook) -> None:
        notebook.run("import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')")
        notebook.run(define("pass"))
        assert len(notebook.captures("emit_te")) == 1


def test_all_is_put_back_after_an_error(shell: Any) -> None:
    shell.user_ns["a"] = 1
    with pytest.raises(SystemExit), isolated(shell):
        shell.user_ns["a"] = 2
        raise SystemExit
    assert shell.user_ns["a"] == 1
