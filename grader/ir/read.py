"""From the text of a module to its facts: the one entry to this package.

    document ─decode_graph▶ Graph ─check_consistency▶ allow-list, main, functions ─▶ ModuleFacts

Everything here is pure Python on bounded data. The text of a module without findings may be handed
to a runner.
"""

from __future__ import annotations

import msgspec

from grader.ir.allow import find_forbidden
from grader.ir.bounds import find_out_of_bounds
from grader.ir.consistency import check_consistency
from grader.ir.content import find_decisions
from grader.ir.expressions import Budget
from grader.ir.facts import FunctionFacts, ModuleFacts
from grader.ir.form import find_forms
from grader.ir.graph import Graph, decode_graph
from grader.ir.relax import MainFacts, read_main
from grader.ir.safety import WORK_LIMIT, find_safety
from grader.ir.tir import read_function

_NO_MAIN = MainFacts(inputs=(), output=None, calls=(), result=None)


def read_module(document: bytes, externs: tuple[str, ...] = ()) -> ModuleFacts:
    """Return the facts of a module, given as `tvm.ir.save_json` text.

    `externs` are fnmatch patterns (`env.*`) of the external functions that `call_dps_packed` may
    name. What the allow-list refuses is in `findings`. Raises IRError, and nothing else, when the
    text is not a module that TVM could have saved.
    """
    graph = decode_graph(document)
    check_consistency(graph)
    budget = Budget()
    functions = {
        graph.name(variable, "name_hint"): function
        for variable, function in graph.pairs(graph.field(graph.root, "functions"))
    }
    prim = {
        name: function
        for name, function in functions.items()
        if graph.type_of(function) == "tirx.PrimFunc"
    }
    main = functions.get("main")
    has_main = main is not None and graph.type_of(main) == "relax.expr.Function"
    main_facts = read_main(graph, main, budget) if main is not None and has_main else _NO_MAIN
    findings = find_forbidden(graph, externs, budget)
    forms = find_forms(graph, functions, Budget())
    return ModuleFacts(
        has_main=has_main,
        inputs=main_facts.inputs,
        output=main_facts.output,
        calls=main_facts.calls,
        functions=_functions(graph, prim, forms, budget),
        externs=_externs(graph),
        findings=findings or find_out_of_bounds(graph, prim, budget),
        function_names=tuple(functions),
        result=main_facts.result,
        form=forms.get("main", "") if has_main else "",
    )


def _functions(
    graph: Graph, functions: dict[str, int], forms: dict[str, str], budget: Budget
) -> dict[str, FunctionFacts]:
    facts, looking = {}, Budget(WORK_LIMIT)
    for name, node in functions.items():
        safety = find_safety(graph, name, node, looking)
        facts[name] = msgspec.structs.replace(
            read_function(graph, name, node, budget),
            decisions=find_decisions(graph, name, node, budget),
            unproven=safety.unproven,
            unguarded=safety.unguarded,
            form=forms[name],
        )
    return facts


def _externs(graph: Graph) -> tuple[str, ...]:
    """Return the names of all external functions of Relax, each once, in the order of the text."""
    names = (
        graph.name(index, "global_symbol")
        for index, kind in enumerate(graph.types)
        if kind == "relax.expr.ExternFunc"
    )
    return tuple(dict.fromkeys(names))
