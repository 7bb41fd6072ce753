"""The pytest plugin: failures of the conformance suite read like advice, without a traceback."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

__all__ = ["pytest_runtest_makereport"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: pytest.CallInfo[Any]) -> Generator[None, Any, Any]:
    """Show what a check found, and not the code that looked for it."""
    report = yield
    if call.excinfo is not None and call.excinfo.typename == "Nonconformance" and report.failed:
        report.longrepr = str(call.excinfo.value)
    return report
