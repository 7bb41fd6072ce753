"""Checking JSON values against JSON Schemas (draft 2020-12), whole or piece by piece.

Two engines give the same verdicts and the same pointers: `jsonschema`, the reference, and `jsonschema-rs` (extra
`fast`), which is some hundred times faster and is used where it is installed and can take the value. What it refuses
(lone surrogates, say) goes to the reference.

Both engines follow a schema that refers to itself by recursion, hence such a schema takes values of at most 100 levels.
A format whose nodes are nested in one another is checked node by node, with a definition that does not refer to itself:
`walk_nested` takes the nodes apart without recursion and `validate_nodes` checks the pieces. A chain of 100,000 nodes
costs no more than 100,000 single ones. Under any other schema a value may be as deep as it likes.

Messages say what the schema asks for and never quote what the file says. Values are what a JSON reader gives; NaN and
the infinities are not JSON and must have been replaced before.
"""

from loomconv.schema.check import PieceCheck, SchemaFault, validate, validate_nodes
from loomconv.schema.engines import Bulk
from loomconv.schema.files import load_schema, schema_text
from loomconv.schema.nested import Steps, walk_nested

__all__ = [
    "Bulk",
    "PieceCheck",
    "SchemaFault",
    "Steps",
    "load_schema",
    "schema_text",
    "validate",
    "validate_nodes",
    "walk_nested",
]
