"""A node that is passed at once is one that the mender would not touch."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loomconv.repair import mend_node
from loomconv.repair import nodes as mending
from loomconv.report import Report
from tests.made import VALUES, documents, examples, node


@examples(100)
@given(
    documents(), st.dictionaries(st.sampled_from([*node(""), "createdAt", "meta", "generation"]), VALUES, max_size=2)
)
def test_what_is_passed_at_once_needs_no_mending(value: dict[str, Any], odd: dict[str, Any]) -> None:
    for tree in value["trees"]:
        for node_id, each in tree["nodes"].items():
            changed: Any = {**each, **odd}
            if mending._is_plainly_sound(node_id, changed):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(mending, "_is_plainly_sound", lambda *_: False)
                    report = Report()
                    assert mend_node(node_id, changed, report) is changed
                    assert not report.findings
