"""Why a part has nothing that could be graded."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_notebook

from grader.assignment import PartTable
from grader.execute.result import Execution, LostCell, Written
from grader.grading.absence import explain_absence, explain_stale
from grader.language import say
from grader.messages.kernel import CaptureFailure
from grader.report import Origin


def part(kind="function") -> PartTable:
    return PartTable(
        id="part", title="A part", entry_kind=kind, entry=("create", "create*"), check=()
    )


def failure(reason, **fields) -> CaptureFailure:
    return CaptureFailure("part", "create", 5, reason, **fields)


def test_without_an_entry_point_its_name_is_given():
    assert "create" in explain_absence(part(), ()).reason.english


@pytest.mark.parametrize("text", ["def create():\n    return 1", "create = make()"])
def test_a_definition_in_a_text_cell_is_told_with_its_number(text):
    """One key in Jupyter makes Markdown of a cell."""
    problem = explain_absence(part(), (), written=Written(texts={3: "create a model", 19: text}))
    assert "Cell 19 of the notebook" in problem.reason.english
    assert "create" in problem.reason.english


@pytest.mark.parametrize(
    "text",
    [
        "def build():\n    @I.ir_module\n    class create:\n        pass\n    return create",
        "import tvm\nclass Answer(\n    Base\n):\n    def create(self): ...",
        "def main():\n    mod = 1\n# test\n    create_model = mod\nmain()",
    ],
)
def test_a_definition_within_a_function_is_told_with_its_cell(text):
    """A function that nobody calls defines nothing, and what `main` binds ends with it."""
    problem = explain_absence(part(), (), written=Written(ran={1: "def create_x", 2: text}))
    assert "Code cell 2 defines `create" in problem.reason.english
    assert problem.hint.english.startswith("Move its definition out of `")


@pytest.mark.parametrize(
    "text",
    [
        "def build():\n    return 1\nrun(\n    create=2)\nfor i in x:\n    create = i",
        "def build():\n    run(\n        create=None,\n        seed=1,\n    )",
    ],
)
def test_what_stands_behind_a_function_or_in_a_call_is_not_within_it(text):
    assert (
        "Code cell"
        not in explain_absence(part(), (), written=Written(ran={1: text})).reason.english
    )


def test_the_last_failure_counts():
    failures = (
        failure("not_a_module", message="None"),
        failure("raised", error_name="TypeError", message="bad", line=7),
    )
    problem = explain_absence(part(), failures)
    assert "create (code cell 5) raised TypeError at line 7: bad" == problem.reason.english


@pytest.mark.parametrize(("kind", "whose"), [("importer", "of your own"), ("function", "separate")])
def test_what_is_given_a_model_is_tried_on_one_that_the_student_has(kind, whose):
    """The models of most parts are hidden: nobody can call an importer on them."""
    raised = failure("raised", error_name="AssertionError", message="12 vs 5", line=9)
    assert whose in explain_absence(part(kind), (raised,)).hint.english


def test_an_operation_that_an_importer_does_not_know_is_named():
    raised = failure("raised", error_name="KeyError", message="<built-in function add>")
    hint = explain_absence(part("importer"), (raised,)).hint.english
    assert "no entry for `operator.add`" in hint


def test_an_unsolved_stub_is_called_so():
    for stub in (failure("raised", error_name="NotImplementedError"), failure("unsolved")):
        assert "not solved yet" in explain_absence(part(), (stub,)).reason.english


def test_a_value_that_is_no_module_is_told_by_its_type():
    """Of a pass that was never called there was said to be no module of the name."""
    other = failure("other_type", message="ModulePass")
    told = "create (code cell 5) is of the type ModulePass, not an IRModule."
    problem = explain_absence(part("module"), (other,))
    assert told == problem.reason.english
    assert "`@I.ir_module` above a class" in problem.hint.english  # which is of the type `type`
    lost = LostCell(7, "class create: pass", "failed", "NameError", "no")
    assert "code cell 7" in explain_absence(part("module"), (other,), (lost,)).reason.english


def test_a_placeholder_in_what_is_called_is_told_by_its_place():
    """The entry point was solved, and was told not to be."""
    stub = failure("raised", error_name="NotImplementedError", line=7)
    told = "create is not solved yet: code cell 5, line 7 is a placeholder."
    assert told == explain_absence(part(), (stub,)).reason.english


def test_an_error_without_words_ends_no_sentence_in_a_colon():
    lost = LostCell(2, "create = build()", "failed", "NotImplementedError")
    assert explain_absence(part(), (), (lost,)).reason.english.endswith("in NotImplementedError")


def test_an_error_that_says_what_is_not_done_is_no_stub():
    """A loop over the nodes of a graph that ends with it was told as not solved yet."""
    own = failure("raised", error_name="NotImplementedError", message="cannot import add")
    reason = explain_absence(part(), (own,)).reason.english
    assert "raised NotImplementedError" in reason
    assert "not solved yet" not in reason


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("class create:\n    def add():\n        ...", "unsolved"),
        ("class create:\n    ...  # your code", "unsolved"),
        ("create = x[..., 0]\n# ...", "unfinished_cell"),
    ],
)
def test_a_cell_that_fails_at_its_stub_is_not_solved(text, code):
    lost = LostCell(3, text, "failed", "DiagnosticError", "cannot be parsed")
    problem = explain_absence(part(), (), (lost,))
    assert (code, code == "unsolved") == (problem.code, "not solved yet" in problem.reason.english)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("class create:\n    raise NotImplementedError()", "NotImplementedError", ""),
        (
            "class create:\n    def add(a: T.handle):\n        raise NotImplementedError()",
            "DiagnosticError",
            "Visitor of AST node is not implemented: Raise",
        ),
        ("# Define create.\n...\ncreate.show()", "NameError", "name 'create' is not defined"),
    ],
)
def test_a_cell_that_ends_behind_its_stub_or_by_it_is_not_solved(text, error, message):
    lost = LostCell(3, text, "failed", error, message)
    told = "create (code cell 3) is not solved yet."
    assert told == explain_absence(part("module"), (), (lost,)).reason.english


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# Define the class create here.\n...", "unsolved"),
        ("create = None\n...", "unsolved"),
        ("# Define created here.\n...", "absent"),
        ("# Define create here.\nmade = bb.get()\n...", "absent"),
        ("# Define create here ...\n# make()", "absent"),
    ],
)
def test_what_is_asked_for_in_a_cell_with_a_placeholder_is_not_solved(text, code):
    """Such a cell runs to its end: the notebook was told to have no module of that name."""
    execution = Execution(new_notebook(cells=[new_code_cell(text)]), (), 1, 1, (), (), begun=1)
    assert code == explain_absence(part("module"), (), execution.lost).code


@pytest.mark.parametrize(
    ("type_name", "code"),
    [("BlockBuilder", "not_captured"), ("NoneType", "unsolved"), ("ellipsis", "unsolved")],
)
def test_what_was_written_is_told_before_the_placeholder_that_was_left(type_name, code):
    """The answer stood in another cell, and the handout's was called not solved."""
    left = LostCell(2, "# Define create here.\ncreate = None\n...", "unsolved")
    other = failure("other_type", message=type_name)
    assert code == explain_absence(part("module"), (other,), (left,)).code
    failed = LostCell(3, "create = build()", "failed", "KeyError", "'w'")
    assert "KeyError" in explain_absence(part("module"), (other,), (left, failed)).reason.english


def test_what_lacks_a_name_of_a_lost_cell_is_told_of_that():
    message = "name 'load' is not defined"
    first = LostCell(
        1,
        "from my_helpers import load",
        "failed",
        "ModuleNotFoundError",
        "No module named 'my_helpers'",
        advice=say("replace-stub-with-your-solution"),
    )
    second = LostCell(4, "create = load()", "failed", "NameError", message)
    told = (
        "needs `load`: code cell 1, which defines it, ended in ModuleNotFoundError: No module named"
    )
    lacking = failure("raised", error_name="NameError", message=message)
    for failures, lost, where in (
        ((), (first, second), "create (code cell 4)"),
        ((lacking,), (first,), "create (code cell 5)"),
    ):
        problem = explain_absence(part(), failures, lost)
        assert problem.reason.english.startswith(f"{where} {told}")
        assert (first.advice, "unfinished_cell") == (problem.hint, problem.code)


def test_a_cell_that_failed_is_advised_on_as_it_was():
    advice = say("program-asks-for-arguments-on-command-line")
    lost = LostCell(2, "create = 1", "failed", "SystemExit", "2", advice=advice)
    assert advice == explain_absence(part(), (), (lost,)).hint


def test_what_a_written_file_was_to_define_is_not_said_to_be_missing():
    lost = LostCell(2, "%run m.py", "failed", "ValueError", "no", called="def create(): ...")
    told = "create is missing: code cell 2, which defines it, ended in ValueError: no"
    assert told == explain_absence(part(), (), (lost,)).reason.english


def test_a_missing_schedule_is_called_so():
    assert "no schedule for this part" in explain_absence(part(kind="schedule"), ()).reason.english


LOST = {
    "failed": LostCell(3, "@decorated\nclass create:\n    pass", "failed", "NameError", "no", 1),
    "stopped": LostCell(3, "x = 1\n  async def create_it(): pass", "stopped"),
    "not_run": LostCell(3, "create: object = 1", "not_run"),
}


@pytest.mark.parametrize(
    ("fate", "reason"),
    [
        ("failed", "create is missing: code cell 3, which defines it, ended in NameError: no"),
        ("stopped", "create_it is missing: code cell 3, which defines it, was stopped."),
        ("not_run", "create is missing: code cell 3, which defines it, was not run."),
    ],
)
def test_what_stands_in_a_lost_cell_is_not_said_to_be_missing(fate, reason):
    problem = explain_absence(part(), (), (LostCell(2, "other = 1", "failed"), LOST[fate]))
    assert reason == problem.reason.english
    assert problem.hint


def test_what_a_lost_cell_only_uses_is_missing():
    used = LostCell(3, "print(create)\nif create == 1: pass\ncreate()", "not_run")
    assert "defines no function" in explain_absence(part(), (), (used,)).reason.english


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("Exception", "Code cell 3 ended in an error: if it was to define create, fix it first."),
        ("AssertionError", ""),
        ("NameError", ""),
    ],
)
def test_a_cell_that_may_have_been_to_define_it_is_named(error, told):
    """A cell that checks what is missing fails for that: it is not to be mended first."""
    lost = LostCell(3, "%run layers.py", "failed", error, "no")
    hint = explain_absence(part(), (), (lost,)).hint.english
    assert (told or "returns the IRModule.") == hint[-len(told or "returns the IRModule.") :]
    assert "fix" not in explain_absence(part(), ()).hint.english


def test_a_failed_cell_of_the_handout_was_not_to_define_it():
    """Of an empty template, each missing module pointed at the handout's first failed check."""
    given = LostCell(3, "check(run)", "failed", "NotImplementedError", is_given=True)
    own = LostCell(4, "%run layers.py", "failed", "Exception", "no")
    assert "cell" not in explain_absence(part(), (), (given,)).hint.english
    assert "Code cell 4 ended" in explain_absence(part(), (), (given, own)).hint.english


def test_an_entry_point_that_was_interrupted_did_not_return():
    problem = explain_absence(part(), (failure("raised", error_name="KeyboardInterrupt"),))
    assert "did not return" in problem.reason.english


@pytest.mark.parametrize("kind", ["function", "module", "python", "importer"])
def test_what_is_missing_is_named_and_what_to_do(kind):
    problem = explain_absence(part(kind), ())
    assert "create" in problem.reason.english
    assert "create" in problem.hint.english


def test_what_a_student_wrote_is_no_pattern():
    problem = explain_absence(part(), (failure("raised", error_name="KeyError", message="{x}"),))
    assert problem.reason.english.endswith("KeyError: {x}")
    assert "{x}" in problem.reason.in_("zh")


def test_names_that_the_grader_knows_are_told():
    needs = (failure("needs_arguments", message="maps"),)
    problem = explain_absence(part(), needs, arguments=("weight_map", "batch_size"))
    assert problem.reason.english.endswith("cannot know: maps")
    assert "weight_map, batch_size" in problem.hint.english
    assert (
        "weight_map"
        not in explain_absence(part("importer"), needs, arguments=("weight_map",)).hint.english
    )


def test_the_advice_is_for_the_kind_of_entry_point():
    needs = (failure("needs_arguments", message="maps"),)
    assert "without arguments" in explain_absence(part(), needs).hint.english
    assert "traced model" in explain_absence(part("importer"), needs).hint.english
    stuck = (failure("extern_not_portable", message="a generator"),)
    assert "External" not in explain_absence(part("python"), stuck).reason.english


def test_a_schedule_of_an_older_module_is_told_of_the_cell_that_failed():
    """It was told that the other part's external function is not allowed."""
    made = LostCell(23, "mod = create()", "failed", "InternalError", "no such bias", 1)
    used = LostCell(24, "sch = Schedule(mod)", "failed", "ValueError", "no conv2d", 1)
    problem = explain_stale(Origin("sch", 24), (made, used))
    assert problem is not None
    told = "sch (code cell 24) needs `mod`: code cell 23, which defines it, ended in InternalError"
    assert problem.reason.english.startswith(told)
    assert "unfinished_cell" == problem.code
    assert explain_stale(Origin("sch", 24), (made,)) is None
    assert explain_stale(Origin("sch", 24), (used,)) is None


def test_a_refused_step_of_a_function_is_explained():
    """A space of schedules was told to fix the first error; the cell below had the advice."""
    message = (
        "decompose_reduction expect the loop `k_1` to be higher than all the loops related to"
        " reduce block var of block `C`"
    )
    raised = failure("raised", error_name="ScheduleError", message=message)
    hint = explain_absence(part(), (raised,)).hint.english
    assert "Give decompose_reduction the outermost" in hint
