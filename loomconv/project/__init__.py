"""Making a document fit a format's capabilities, step by step, each step reported; and putting back what was taken."""

from loomconv.project.projection import project_document
from loomconv.project.restoration import restore_document

__all__ = ["project_document", "restore_document"]
