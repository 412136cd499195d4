"""The allow-list applied to a graph: everything that a module may not do, as findings.

A finding is not an error: the module is a graph, but what it asks for is not what a student is
asked to write, and some of it would run foreign code in the process that runs the module. Such a
module is never run.
"""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from grader.ir import vocabulary
from grader.ir.consistency import LOOP_KINDS, THREAD_BINDING, pipeline_stages
from grader.ir.expressions import Budget
from grader.ir.facts import Finding
from grader.ir.graph import Graph
from grader.ir.vocabulary import shown
from grader.language import Text, say

FINDING_LIMIT = 20
"""Most findings of one module: one is enough to refuse it."""


def find_forbidden(graph: Graph, externs: tuple[str, ...], budget: Budget) -> tuple[Finding, ...]:
    """Return what the allow-list refuses, in the order of the functions.

    `externs` are fnmatch patterns of the external functions that call_dps_packed may name; none may
    be named where it is empty.
    """
    findings: dict[tuple[str, str, str], Finding] = {}
    for finding in _all_findings(graph, externs, budget):
        findings.setdefault((finding.code, finding.subject, finding.where), finding)
        if len(findings) == FINDING_LIMIT:
            break
    return tuple(findings.values())


def _all_findings(graph: Graph, externs: tuple[str, ...], budget: Budget) -> Iterator[Finding]:
    yield from _module_findings(graph)
    for variable, function in graph.pairs(graph.field(graph.root, "functions")):
        name = graph.name(variable, "name_hint")
        yield from _FunctionReader(graph, name, externs, budget).read(variable, function)


def _module_findings(graph: Graph) -> Iterator[Finding]:
    for key, _ in graph.pairs(graph.field(graph.root, "global_infos")):
        subject = graph.text(key)
        text = say("module-carries-global-information-which-not-allowed", name=shown(subject))
        yield Finding(code="global_info", subject=subject, where="", message=text)
    table = graph.field(graph.field(graph.root, "attrs"), "__dict__")
    for key, _ in graph.pairs(table):
        subject = graph.text(key)
        if subject == "base_py_module":
            told = say("module-class-basepymodule-and-so-may-have")
            yield Finding(code="python_module", subject=subject, where="", message=told)
            continue
        text = say("module-has-attribute-which-not-allowed", name=shown(subject))
        yield Finding(code="attribute", subject=subject, where="", message=text)


_PIPELINE = (vocabulary.PIPELINE_STAGES, vocabulary.PIPELINE_ORDER)
"""Annotations that make a loop a software pipeline, together."""


class _FunctionReader:
    """Walks everything that one function refers to, in the order of its text."""

    def __init__(self, graph: Graph, name: str, externs: tuple[str, ...], budget: Budget) -> None:
        self.graph = graph
        self.function = name
        self.externs = externs
        self.budget = budget
        self.readers = {
            "ir.Call": self.call,
            "ir.EnvFunc": self.environment_function,
            "relax.expr.ExternFunc": self.extern_function,
            "s_tir.SBlock": self.annotations,
            "tirx.AllocBuffer": self.annotations,
            "tirx.AttrStmt": self.attribute_statement,
            "tirx.BufferType": self.storage_scope,
            "tirx.For": self.loop,
            "tirx.PrimFunc": self.attributes,
            "tirx.While": self.unbounded_loop,
            "relax.expr.Function": self.attributes,
        }

    def read(self, variable: int, root: int) -> Iterator[Finding]:
        """Return the findings of the function at node `root`, and of its variable's type."""
        if self.graph.type_of(root) == "relax.expr.ExternFunc":
            table = self.graph.field(self.graph.field(root, "attrs"), "__dict__")
            if any(self.graph.text(key) == "is_pyfunc" for key, _ in self.graph.pairs(table)):
                written = say("function-one-python", name=shown(self.function))
                yield self.finding("python_module", self.function, written)
                return
            text = say("function-defined-as-external-function", name=shown(self.function))
            yield self.finding("extern_function", self.function, text)
            return
        for index in self.budget.walk((root, variable), self.next_of):
            reader = self.readers.get(self.graph.type_of(index))
            if reader is not None:
                yield from reader(index)

    def next_of(self, index: int) -> list[int]:
        """Return the nodes to walk to.

        An external function has been judged with the call that names it: only what it refers to is
        left.
        """
        graph = self.graph
        extern = self.called_extern(index) if graph.type_of(index) == "ir.Call" else None
        if extern is None:
            return graph.children[index]
        # A permitted extern would be found again as a value. What its type refers to is still
        # looked at: a function that infers it would be called.
        fields = [graph.field(index, name) for name in ("op", "ty", "attrs", "ty_args")]
        nodes = [*fields, *graph.list(index, "args")]
        return [*(node for node in nodes if node != extern), *graph.children[extern]]

    def called_extern(self, call: int) -> int | None:
        """Return the external function that a call names, directly or as its first argument."""
        graph = self.graph
        operator, arguments = graph.field(call, "op"), graph.list(call, "args")
        if graph.type_of(operator) == "relax.expr.ExternFunc":
            return operator
        if graph.type_of(operator) == "ir.Op" and arguments and _takes_extern(graph.text(operator)):
            first = arguments[0]
            return first if graph.type_of(first) == "relax.expr.ExternFunc" else None
        return None

    # --- calls ------------------------------------------------------------------------------------

    def call(self, index: int) -> Iterator[Finding]:
        graph = self.graph
        operator, extern = graph.field(index, "op"), self.called_extern(index)
        if graph.type_of(operator) != "ir.Op":
            if extern is not None:
                yield self.packed_call(graph.name(extern, "global_symbol"))
            return
        name = graph.text(operator)
        if name.startswith("relax."):
            yield from self.operator(name, extern)
        elif name in vocabulary.EXTERN_CALLS:
            yield self.extern_call(self.first_string(index))
        elif name in vocabulary.PACKED_CALLS:
            yield self.packed_call(self.first_string(index))
        elif name not in vocabulary.INTRINSICS:
            text = self.told(say("function-uses-intrinsic-which-not-allowed"), name)
            yield self.finding("intrinsic", name, text)

    def operator(self, name: str, extern: int | None) -> Iterator[Finding]:
        """Judge an operator of Relax, and the external function that it calls."""
        if name == "relax.call_dps_packed":
            called = "" if extern is None else self.graph.name(extern, "global_symbol")
            # An extern without a name, or of another call than `call_dps_packed`, is permitted by
            # no pattern.
            if not called or not any(fnmatchcase(called, pattern) for pattern in self.externs):
                yield self.packed_call(called)
        elif name in vocabulary.OTHER_EXTERN_OPERATORS and extern is not None:
            yield self.packed_call(self.graph.name(extern, "global_symbol"))
        elif name not in vocabulary.OPERATORS:
            text = self.told(say("function-uses-operator-which-not-allowed"), name)
            yield self.finding("operator", name, text)

    def first_string(self, call: int) -> str:
        arguments = self.graph.list(call, "args")
        if not arguments or self.graph.type_of(arguments[0]) != "ir.StringImm":
            return ""
        return self.graph.name(arguments[0], "value")

    def extern_call(self, subject: str) -> Finding:
        text = self.told(say("function-calls-external-function-which-not-allowed"), subject)
        return self.finding("extern_call", subject, text)

    def packed_call(self, subject: str) -> Finding:
        text = self.told(say("function-calls-packed-function-which-not-allowed"), subject)
        return self.finding("packed_call", subject, text)

    def extern_function(self, index: int) -> Iterator[Finding]:
        """Judge an external function that is used as a value."""
        subject = self.graph.name(index, "global_symbol")
        text = self.told(say("function-takes-packed-function-as-value-may"), subject)
        yield self.finding("packed_call", subject, text)

    def environment_function(self, index: int) -> Iterator[Finding]:
        """Judge a function of TVM's registry that type inference would call."""
        subject = self.graph.text(index)
        if subject not in vocabulary.ENVIRONMENT_FUNCTIONS:
            text = self.told(say("function-refers-function-which-not-allowed"), subject)
            yield self.finding("environment_function", subject, text)

    # --- statements -------------------------------------------------------------------------------

    def loop(self, index: int) -> Iterator[Finding]:
        if self.graph.field(index, "kind") == THREAD_BINDING:
            subject = self.graph.name(self.graph.field(index, "loop_var"))
            yield self.bound_to_threads(subject)
        keys = [self.graph.text(key) for key, _ in self.annotated(index)]
        if pipeline_stages(self.graph, index):
            keys = [each for each in keys if each not in _PIPELINE]
        for key in keys:
            yield from self.annotation(key)

    def bound_to_threads(self, subject: str) -> Finding:
        text = self.told(say("function-binds-loop-gpu-threads-but-runs"), subject)
        return self.finding(LOOP_KINDS[THREAD_BINDING], subject, text)

    def unbounded_loop(self, _index: int) -> Iterator[Finding]:
        text = say("function-has-while-loop-use-for-loop", name=shown(self.function))
        yield self.finding("unbounded_loop", "while", text)

    def annotations(self, index: int) -> Iterator[Finding]:
        for key, _ in self.annotated(index):
            yield from self.annotation(self.graph.text(key))

    def annotated(self, index: int) -> list[tuple[int, int]]:
        return list(self.graph.pairs(self.graph.field(index, "annotations")))

    def attribute_statement(self, index: int) -> Iterator[Finding]:
        """Judge the key of an attribute statement, which is what annotations are lowered to.

        One that gives an index its threads is what a loop is lowered to that is bound to threads,
        and what `T.launch_thread` writes.
        """
        key = self.graph.name(index, "attr_key")
        node = self.graph.field(index, "node")
        if key == vocabulary.THREAD_EXTENT and self.graph.type_of(node) == "tirx.IterVar":
            yield self.bound_to_threads(self.graph.name(self.graph.field(node, "var")))
        else:
            yield from self.annotation(key)

    def annotation(self, key: str) -> Iterator[Finding]:
        """Judge the key of an annotation: those that bring code in begin with `pragma_`."""
        if key in vocabulary.ANNOTATIONS:
            return
        if key in _PIPELINE:
            # What is left of a pipeline that has one of both, or other numbers than TVM survives.
            text = self.told(say("function-has-incomplete-pipeline"), key)
            yield self.finding("attribute", key, text)
            return
        pragma = key.startswith("pragma_")
        text = self.told(say("function-uses-annotation-which-not-allowed"), key)
        yield self.finding("pragma" if pragma else "attribute", key, text)

    def attributes(self, index: int) -> Iterator[Finding]:
        for key, _ in self.graph.pairs(
            self.graph.field(self.graph.field(index, "attrs"), "__dict__")
        ):
            subject = self.graph.text(key)
            if subject not in vocabulary.FUNCTION_ATTRIBUTES:
                text = self.told(say("function-has-attribute-which-not-allowed"), subject)
                yield self.finding("attribute", subject, text)

    def storage_scope(self, index: int) -> Iterator[Finding]:
        subject = self.graph.name(index, "storage_scope")
        if subject not in vocabulary.STORAGE_SCOPES:
            text = self.told(say("function-keeps-buffer-in-memory-cpu-has"), subject)
            yield self.finding("storage_scope", subject, text)

    # --- wording ----------------------------------------------------------------------------------

    def told(self, sentence: Text, subject: str) -> Text:
        """Say which `function` does what with the `name` that is its subject."""
        named = shown(subject) if subject else say("with-name-that-not-written-there")
        return say(sentence, function=shown(self.function), name=named)

    def finding(self, code: str, subject: str, message: Text) -> Finding:
        return Finding(code=code, subject=subject, where=self.function, message=message)


def _takes_extern(operator: str) -> bool:
    return operator == "relax.call_dps_packed" or operator in vocabulary.OTHER_EXTERN_OPERATORS
