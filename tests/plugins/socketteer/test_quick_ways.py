"""The quick ways of reading and writing say the same as the careful ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from loomconv.repair import mend_node
from loomconv.report import Report
from loomconv_plugins.socketteer import items, reader
from loomconv_plugins.socketteer.node_forms import NodeForms
from tests.plugins.socketteer.harness import read, write
from tests.plugins.socketteer.test_laws import EXAMPLES, documents, files


@EXAMPLES
@given(documents())
def test_a_plain_node_has_the_mark_that_reading_its_entry_back_gives(value: Any) -> None:
    quick = write(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NodeForms, "plain_mark", lambda *_: None)
        assert write(value)[0] == quick[0]


@EXAMPLES
@given(documents())
def test_responses_are_the_same_whether_made_on_the_way_or_before(value: Any) -> None:
    quick = write(value)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items.Items, "_plan", lambda self, *_: self.plan())
        assert write(value)[0] == quick[0]


@EXAMPLES
@given(files())
def test_a_node_that_is_said_to_be_in_shape_needs_no_mending(value: Any) -> None:
    tree = read(value)[0].trees[0]
    for node_id in tree.nodes.ids:
        node: Any = tree.nodes[node_id]
        core = reader.Core.of(node)
        if node["content"] and "openloom" not in str(value) and reader._is_in_shape(core):
            report = Report()
            assert mend_node(node_id, node, report) is node
            assert not report.findings
