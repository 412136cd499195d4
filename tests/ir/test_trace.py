"""Reading a schedule's trace: what TVM writes is read, and nothing else gets through."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tvm import s_tir
from tvm.ir import assert_structural_equal

from grader.errors import IRError
from grader.ir import trace as reader
from grader.ir.trace import read_trace, steps_not_replayed
from tests.evidence.schedules import saved_trace
from tests.ir import modules

REFUSED = {"layout", "scope"}
WITH_MAPS = {"block_layout", "reindex_cache"}

BLOCK = ["GetSBlock", [], ["Y", "mm"], ["b0"]]
LOOPS = ["GetLoops", ["b0"], [], ["l1", "l2"]]


def made(name: str) -> bytes:
    """The trace of one of the schedules of a matrix product."""
    schedule = s_tir.Schedule(modules.product_module())
    blocks = [schedule.get_sblock(block, func_name="mm_relu") for block in ("Y", "C")]
    modules.SCHEDULES[name](schedule, *blocks)
    return saved_trace(schedule)


def written(*instructions: Any, decisions: Any = ()) -> bytes:
    return json.dumps([[BLOCK, LOOPS, *instructions], list(decisions)]).encode()


def refuse(document: bytes) -> IRError:
    with pytest.raises(IRError) as caught:
        read_trace(document)
    assert caught.value.message.english.endswith(".")
    assert caught.value.hint
    return caught.value


class TestRealTraces:
    @pytest.mark.parametrize(
        "name", sorted(modules.SCHEDULES.keys() - REFUSED - WITH_MAPS - {"uneven"})
    )
    def test_what_tvm_writes_is_read_and_written_again(self, name):
        document = made(name)
        assert json.loads(document) == json.loads(read_trace(document).document)

    @pytest.mark.parametrize("name", sorted(WITH_MAPS))
    def test_index_maps_are_written_anew_and_do_the_same(self, name):
        document = made(name)
        results = []
        for each in (document, read_trace(document).document):
            schedule = s_tir.Schedule(modules.product_module())
            s_tir.Trace.apply_json_to_schedule(json.loads(each), schedule)
            results.append(schedule.mod)
        assert_structural_equal(*results)

    @pytest.mark.parametrize("map_", ["{", "{}", '{"root_index": 0, "nodes": []}', "b0"])
    def test_what_stands_in_the_place_of_an_index_map_must_be_one(self, map_):
        assert (
            "TransformBlockLayout"
            in refuse(written(["TransformBlockLayout", ["b0"], [map_], []])).message.english
        )

    @pytest.mark.parametrize("name", sorted(REFUSED))
    def test_what_takes_a_function_or_a_foreign_scope_is_refused(self, name):
        assert "cannot be replayed here" in refuse(made(name)).message.english

    def test_steps_are_those_that_change_the_program(self):
        trace = read_trace(made("tile"))
        assert (6, ("mm_relu",)) == (trace.steps, trace.functions)

    def test_looking_things_up_is_no_step(self):
        assert 0 == read_trace(written(["GetProducers", ["b0"], [], ["b3"]])).steps

    def test_drawn_factors_are_read_with_what_was_drawn(self):
        trace = read_trace(made("sample"))
        assert 1 == trace.steps
        assert [3] == [place for place, _ in json.loads(trace.document)[1]]


class TestTuningRecords:
    """What MetaSchedule writes: draws with their decisions, and the tiles as a word."""

    TILING = "meta_schedule.tiling_structure"
    DRAWN = ("SampleCategorical", [], [[0, 16], [0.5, 0.5]], ["v3"])

    def test_the_structure_of_tiles_is_a_word_of_two_letters(self):
        read = read_trace(written(["Annotate", ["b0", '"SSRSRS"'], [self.TILING], []]))
        assert 1 == read.steps
        assert b'"\\"SSRSRS\\""' in read.document

    @pytest.mark.parametrize("value", ["SSRSRS", '"SSXS"', '""', f'"{17 * "S"}"', "b0", 3, '"S'])
    def test_nothing_else_is(self, value):
        assert refuse(written(["Annotate", ["b0", value], [self.TILING], []]))

    def test_no_other_annotation_has_a_word(self):
        assert refuse(written(["Annotate", ["b0", '"SR"'], ["meta_schedule.vectorize"], []]))

    def test_what_was_drawn_may_be_annotated(self):
        step = ["Annotate", ["b0", "v3"], ["meta_schedule.unroll_explicit"], []]
        assert 1 == read_trace(written(self.DRAWN, step, decisions=[[2, 1]])).steps
        assert refuse(written(step)), "which must have been drawn before"


class TestAnnotations:
    def test_those_that_a_compiler_may_follow_pass(self):
        for key in ("pragma_auto_unroll_max_step", "pragma_unroll_explicit"):
            assert 1 == read_trace(written(["Annotate", ["l1", 16], [key], []])).steps

    def test_those_that_bring_code_are_refused_and_named(self):
        keys = ("pragma_import_llvm", "pragma_import_c", "schedule_rule", "thread_extent")
        for key in keys:
            assert key in refuse(written(["Annotate", ["l1", 1], [key], []])).message.english

    def test_a_text_is_no_value_of_one(self):
        for text in ('"define void @f()"', "b0", '{"root_index":0,"nodes":[{"type":"None"}]}'):
            key = "pragma_unroll_explicit"
            assert key in refuse(written(["Annotate", ["l1", text], [key], []])).message.english


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        "kind",
        [
            "Bind",
            "SetScope",
            "Tensorize",
            "TransformLayout",
            "UnsafeHideBufferAccess",
            "UnsafeSetDType",
            "AnnotateBufferAccess",
            "Nonsense",
        ],
    )
    def test_a_kind_that_is_not_listed(self, kind):
        assert kind in refuse(written([kind, ["b0"], [], []])).message.english

    @pytest.mark.parametrize(
        "instruction",
        [
            ["Parallel", ["l9"], [], []],
            ["Parallel", ["b0"], [], []],
            ["Parallel", [], [], []],
            ["Parallel", ["l1", "l2"], [], []],
            ["Parallel", ["l1"], [1], []],
            ["Parallel", [["l1"]], [], []],
            ["Parallel", [{"l1": 1}], [], []],
            ["Split", ["l1", "None", 2.5], [True, False], ["l3", "l4"]],
            ["Split", ["l1", 0.5], [True, False], ["l3", "l4"]],
            ["Split", ["l1", 2**40], [True, False], ["l3", "l4"]],
            ["Split", ["l1", '{"root_index":0}'], [True, False], ["l3", "l4"]],
            ["Split", ["l1", 2], [True, False], ["l1", "l4"]],
            ["Split", ["l1", 2], [True, False], ["b3", "l4"]],
            ["Split", ["l1", 2], [True, False], ["l03", "l4"]],
            ["Split", ["l1", *[2] * 100], [True, False], ["l3", "l4"]],
            ["Split", ["l1", 2], [True, "x"], ["l3", "l4"]],
            ["CacheRead", ["b0", []], [0, "warp"], ["b3"]],
            ["CacheRead", ["b0", ["l1"]], [0, "local"], ["b3"]],
            ["GetSBlock", [], ["Y\0", "mm"], ["b3"]],
            ["GetSBlock", [], ["Y", ""], ["b3"]],
            ["GetSBlock", [], [7, "mm"], ["b3"]],
        ],
        ids=json.dumps,
    )
    def test_an_instruction_that_is_not_of_its_form(self, instruction):
        assert "damaged" in refuse(written(instruction)).message.english

    @pytest.mark.parametrize(
        "document",
        [
            b"",
            b"null",
            b"[]",
            b"[[], []",
            b"[[], [], []]",
            b'[{"a": 1}, []]',
            b"[[[1, [], [], []]], []]",
            b"[" * 100_000,
            b"\xff\xfe",
            written(decisions=[[0, 1]]),
            written(decisions=[[9, 1]]),
            written(decisions=[[-1, 1]]),
            written(["SampleComputeLocation", ["b0"], [], ["l3"]], decisions=[[2, "x"]]),
            written(["SampleComputeLocation", ["b0"], [], ["l3"]], decisions=[[2, [[1]]]]),
        ],
        ids=lambda document: document[:40].decode(errors="replace") + str(len(document)),
    )
    def test_a_document_that_is_no_trace(self, document):
        assert "damaged" in refuse(document).message.english

    def test_one_that_is_too_long(self):
        assert (
            "too long" in refuse(written(*[["EnterPostproc", [], [], []]] * 2000)).message.english
        )
        assert "too long" in refuse(b" " * (reader.SIZE_LIMIT + 1)).message.english


class TestNotReplayed:
    def test_each_kind_of_step_and_each_key_of_an_annotation_is_named_once(self):
        document = written(
            ["TransformLayout", ["b0", "{}"], [0, 0, None, False], []],
            ["Annotate", ["b0", [0, 1]], ["software_pipeline_stage"], []],
            ["TransformLayout", ["b0", "{}"], [0, 0, None, False], []],
            ["Annotate", ["b0", 16], ["pragma_auto_unroll_max_step"], []],
        )
        found = (("TransformLayout", ""), ("Annotate", "software_pipeline_stage"))
        assert found == steps_not_replayed(document)

    @pytest.mark.parametrize("key", ["<b>", "a" * 99, 3, ""])
    def test_a_key_that_is_none_is_not_named(self, key):
        assert () == steps_not_replayed(written(["Annotate", ["b0", 1], [key], []]))

    def test_of_no_trace_nothing_is(self):
        assert () == steps_not_replayed(b"no trace")


def test_two_readers_see_the_same():
    """What is passed on is written anew, from what was understood."""
    document = b'[[["GetSBlock",[],["\\u0059","mm"],["b0"]]],[]]'
    assert b'[[["GetSBlock",[],["Y","mm"],["b0"]]],[]]' == read_trace(document).document
