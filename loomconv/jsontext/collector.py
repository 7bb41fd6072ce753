"""Pausing the cyclic garbage collector while many containers are made at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["collector_paused"]

_SMALL = 65536


@contextmanager
def collector_paused(size: int) -> Iterator[None]:
    """Pause the collector for a text of `size` characters or bytes, and restore it on any exit; nothing for small ones.

    A freshly read JSON value holds no cycles, yet the collector would walk it again and again as it grows, at two to
    three times the cost of reading. Nests; the state is that of the process.
    """
    if size < _SMALL or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
