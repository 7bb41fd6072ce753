"""For authors of formats: everything that a format is trusted to do, as tests.

    from loomconv.testing import FormatConformance

    class TestTwigs(FormatConformance):
        format = Twigs()
        fixtures = ["fixtures"]

Without pytest, `check_format` gives the outcome of every check and `fidelity_card` what survives where. The strategies
of `loomconv.testing.strategies` make documents for tests of your own. Needs the extra `testing` (pytest, hypothesis).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from loomconv.testing.card import FidelityCard, fidelity_card
    from loomconv.testing.checks import CHECKS, Check, checks_of, run_check
    from loomconv.testing.conformance import FormatConformance
    from loomconv.testing.features import FEATURES, Feature
    from loomconv.testing.looms import chain, link, loom, node, note_edge, star
    from loomconv.testing.outcomes import Outcome, check_format
    from loomconv.testing.problems import Nonconformance, Problem
    from loomconv.testing.sample_files import samples
    from loomconv.testing.subject import Subject

_HOMES = {
    "card": ("FidelityCard", "fidelity_card"),
    "checks": ("CHECKS", "Check", "checks_of", "run_check"),
    "conformance": ("FormatConformance",),
    "features": ("FEATURES", "Feature"),
    "looms": ("chain", "link", "loom", "node", "note_edge", "star"),
    "outcomes": ("Outcome", "check_format"),
    "problems": ("Nonconformance", "Problem"),
    "sample_files": ("samples",),
    "subject": ("Subject",),
}
__all__ = [
    "CHECKS",
    "FEATURES",
    "Check",
    "Feature",
    "FidelityCard",
    "FormatConformance",
    "Nonconformance",
    "Outcome",
    "Problem",
    "Subject",
    "chain",
    "check_format",
    "checks_of",
    "fidelity_card",
    "link",
    "loom",
    "node",
    "note_edge",
    "run_check",
    "samples",
    "star",
]


def __getattr__(name: str) -> Any:
    # When first used: the pytest plugin lives here, too, and is loaded by every pytest run.
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"loomconv.testing.{home}"), name)
    raise AttributeError(f"module 'loomconv.testing' has no attribute {name!r}")
