"""Modules as TVM has them."""

from __future__ import annotations

import pytest
import tvm

from grader.inside.common.modules import load_module
from tests.inside.runner import modules


def test_what_is_loaded_is_what_was_read_and_nothing_that_it_is_rewritten_to() -> None:
    """TVM's own loader takes older spellings, in which the referee saw something else."""
    document = modules.document(modules.timed_convolution())
    older = document.replace(b'"type":"ir.Var"', b'"type":"tirx.Var"')
    assert older != document
    assert isinstance(tvm.ir.load_json(older.decode()), tvm.IRModule)
    load_module(document)
    with pytest.raises(Exception, match=r"tirx\.Var"):
        load_module(older)
