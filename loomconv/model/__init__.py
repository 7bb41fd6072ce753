"""The pivot: an OpenLoom 2.0 document in memory (design §5), and nothing that reads or writes files."""

from loomconv.model.builder import TreeBuilder
from loomconv.model.document import Document, Origin, Tree
from loomconv.model.edges import EdgeTable, plain_edge, primary_source
from loomconv.model.graph import Graph
from loomconv.model.ids import mint_ulid
from loomconv.model.nodes import NodeIndex, plain_text
from loomconv.model.types import Edge, Node

__all__ = [
    "Document",
    "Edge",
    "EdgeTable",
    "Graph",
    "Node",
    "NodeIndex",
    "Origin",
    "Tree",
    "TreeBuilder",
    "mint_ulid",
    "plain_edge",
    "plain_text",
    "primary_source",
]
