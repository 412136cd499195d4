"""A contract that import-linter lacks: some modules import nothing but what is listed.

Its own "forbidden" lists what must not be imported, so a new room is permitted until somebody
thinks of it; and no list of it says "a folder's own messages, and no other folder's".
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output

_NAME = re.compile(r"\\{(\w+)\\}")


class OnlyContract(Contract):
    """`importers` import of the root package directly only what `may_import` says.

    Both are names of modules. In them `{part}` stands for one part of a name, and for the same one
    in both; `.**` at the end takes what lies below along. With `only_folders` no single file is
    meant.
    """

    type_name = "only"

    importers = fields.ListField(subfield=fields.StringField())
    may_import = fields.ListField(subfield=fields.StringField(), required=False, default=[])
    only_folders = fields.BooleanField(required=False, default=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Return the imports that no pattern allows."""
        del verbose
        illegal = [
            f"{module} -> {imported} (l.{_line(graph, module, imported)})"
            for module in sorted(filter(self._is_ours, graph.modules))
            if not self.only_folders or graph.find_children(module)
            for names in self._matches(module)
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if self._is_ours(imported) and not self._is_allowed(imported, names)
        ]
        return ContractCheck(kept=not illegal, metadata={"illegal": illegal})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print these imports."""
        for each in check.metadata["illegal"]:
            output.print_error(each, bold=False)

    def _matches(self, module: str) -> list[dict[str, str]]:
        """Return what the names stand for, for each pattern of importers that a module has."""
        found = (re.fullmatch(_pattern(each), module) for each in self.importers)  # type: ignore[attr-defined]
        return [each.groupdict() for each in found if each is not None]

    def _is_ours(self, module: str) -> bool:
        roots = self.session_options["root_packages"]
        return any(module == root or module.startswith(f"{root}.") for root in roots)

    def _is_allowed(self, imported: str, names: dict[str, str]) -> bool:
        allowed = (_pattern(each, names) for each in self.may_import)  # type: ignore[attr-defined]
        return any(re.fullmatch(each, imported) for each in allowed)


def _pattern(text: str, known: Mapping[str, str] | None = None) -> str:
    """Return a pattern as a regular expression: a part that is not known yet is a group of it."""
    for part, name in (known or {}).items():
        text = text.replace(f"{{{part}}}", name)
    whole = re.escape(text.removesuffix(".**"))
    below = r"(?:\..*)?" if text.endswith(".**") else ""
    return _NAME.sub(r"(?P<\1>[^.]+)", whole) + below


def _line(graph: ImportGraph, importer: str, imported: str) -> int:
    details = graph.get_import_details(importer=importer, imported=imported)
    return min((each["line_number"] for each in details), default=0)
