"""Bytes in and bytes out, safely: opened sources, bounded containers, output that is complete or absent."""

from __future__ import annotations

from loomconv.storage.companions import companion_path, is_companion, media_folder, residue_path
from loomconv.storage.incident import Incident
from loomconv.storage.limits import Limits
from loomconv.storage.output import AtomicFile, AtomicGroup, Guard, Sink
from loomconv.storage.source import Source, open_source

__all__ = [
    "AtomicFile",
    "AtomicGroup",
    "Guard",
    "Incident",
    "Limits",
    "Sink",
    "Source",
    "companion_path",
    "is_companion",
    "media_folder",
    "open_source",
    "residue_path",
]
