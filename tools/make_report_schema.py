"""Write docs/report.schema.json, the JSON Schema of a report, from the types of grader.report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from grader.report import Report

TARGET = Path(__file__).parents[1] / "docs" / "report.schema.json"


def report_schema() -> bytes:
    """Return the schema as indented JSON, ending in a newline.

    Fields with defaults may be left out of a document that is read, but the grader writes them all:
    the schema demands them.
    """
    schema: dict[str, Any] = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    schema.update(msgspec.json.schema(Report))
    for definition in schema["$defs"].values():
        definition["required"] = list(definition["properties"])
    return msgspec.json.format(msgspec.json.encode(schema), indent=2) + b"\n"


if __name__ == "__main__":
    TARGET.write_bytes(report_schema())
