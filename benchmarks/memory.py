"""What a process takes of memory, as far as the system tells."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Memory", "memory_of", "peak_rss"]


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes: resident now, the most so far, and of those now the private ones and those that are mapped files."""

    resident: int
    peak: int
    private: int
    mapped: int


def memory_of(process: int | str = "self") -> Memory | None:
    """The memory of a process by its id; None where `/proc` does not tell, or when the process is gone."""
    try:
        text = Path(f"/proc/{process}/status").read_text("ascii", "replace")
    except OSError:
        return None
    found = {line.partition(":")[0]: line.split() for line in text.splitlines() if line.endswith(" kB")}
    sizes = [int(found[name][1]) * 1024 if name in found else -1 for name in ("VmRSS", "VmHWM", "RssAnon", "RssFile")]
    return None if -1 in sizes else Memory(*sizes)


def peak_rss() -> int:
    """The most that this process had resident, in bytes; 0 where nothing tells.

    `VmHWM` first: the maximum of `getrusage` begins, on Linux, with the size of the process that started this one.
    """
    own = memory_of()
    if own is not None:
        return own.peak
    try:
        import resource
    except ImportError:
        return 0
    # Linux counts in KiB, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
