"""Structural invariants of OpenLoom 2.0 §4.1, checked and mended in one place for every format."""

from loomconv.repair.nodes import mend_node
from loomconv.repair.structure import repair_document

__all__ = ["mend_node", "repair_document"]
