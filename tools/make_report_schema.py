"""Write docs/report.schema.json, the JSON Schema of a report, from the types of grader.report."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import msgspec

from grader.language import Text
from grader.report import Report
from grader.report.texts import Form

TARGET = Path(__file__).parents[1] / "docs" / "report.schema.json"
_PLACES = "#/$defs/{name}"


def report_schema() -> bytes:
    """Return the schema as indented JSON, ending in a newline.

    Fields with defaults may be left out of a document that is read, but the grader writes them all:
    the schema demands them. Of a text it writes what there is to it.
    """
    schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema.update(msgspec.json.schema(Report, schema_hook=_text))
    for definition in schema["$defs"].values():
        definition["required"] = list(definition["properties"])
    _, definitions = msgspec.json.schema_components([Form], ref_template=_PLACES)
    schema["$defs"]["Text"] = _renamed(definitions["Form"])
    for definition in schema["$defs"].values():
        if "description" in definition:
            # Python 3.13 takes the indentation out of docstrings itself.
            definition["description"] = inspect.cleandoc(definition["description"])
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


def _text(kind: type) -> dict[str, Any]:
    """Return where the schema of a text is, for msgspec's `schema_hook`."""
    if kind is not Text:
        raise NotImplementedError
    return {"$ref": _PLACES.format(name="Text")}


def _renamed(value: Any) -> Any:
    """Return a schema in which a form refers to itself by the name that it has here."""
    if isinstance(value, dict):
        return {name: _renamed(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each) for each in value]
    return value.replace("Form", "Text") if isinstance(value, str) else value


if __name__ == "__main__":
    TARGET.write_bytes(report_schema())
