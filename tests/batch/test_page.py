"""The report's page in a browser without a window: it needs PyQt6-WebEngine, and is passed over where that is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.batch.harness import loom, run

pytestmark = pytest.mark.skipif(find_spec("PyQt6") is None, reason="needs PyQt6-WebEngine")

BROWSER = """
import json, sys
from PyQt6.QtCore import QTimer, QUrl
from PyQt6.QtWebEngineWidgets import QWebEngineView
from PyQt6.QtWidgets import QApplication
app = QApplication(["browser"])
view = QWebEngineView()
messages = []
view.page().javaScriptConsoleMessage = lambda level, text, line, source: messages.append(text)
def loaded(ok):
    view.page().runJavaScript(sys.argv[2], show)
def show(result):
    print(json.dumps({"result": result, "messages": messages}))
    app.quit()
view.loadFinished.connect(loaded)
view.load(QUrl.fromLocalFile(sys.argv[1]))
QTimer.singleShot(30000, app.quit)
app.exec()
"""
SCRIPT = """
(() => {
  const rows = () => [...document.querySelectorAll("#files tbody tr")];
  const names = () => rows().map((row) => row.cells[0].firstChild.textContent);
  const found = { all: names() };
  const search = document.getElementById("search");
  search.value = "FAILING"; search.dispatchEvent(new Event("input"));
  found.searched = names();
  search.value = ""; search.dispatchEvent(new Event("input"));
  document.getElementById("look").click();
  found.look = names();
  document.getElementById("look").click();
  const button = document.querySelector("#files th button");
  button.click(); found.up = names();
  button.click(); found.down = names();
  found.cards = [...document.querySelectorAll(".card b")].map((each) => each.textContent);
  return JSON.stringify(found);
})()
"""


def test_the_page_sorts_and_filters(tmp_path: Path) -> None:
    source, out = tmp_path / "looms", tmp_path / "out"
    source.mkdir()
    for name in ("b", "c"):
        (source / f"{name}.openloom").write_bytes(loom(name))
    (source / "a failing <b>.json").write_bytes(b'{"root":,}')
    run(source, out, "--to", "openloom-2", "-j1")
    environment = {
        **os.environ, "QT_QPA_PLATFORM": "offscreen", "QTWEBENGINE_DISABLE_SANDBOX": "1",
        "QTWEBENGINE_CHROMIUM_FLAGS": "--disable-gpu",
    }  # fmt: skip
    page = out / "loomconv-batch" / "report.html"
    done = subprocess.run(
        [sys.executable, "-c", BROWSER, str(page), SCRIPT], env=environment, capture_output=True, text=True, check=True
    )
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["messages"] == []
    found = json.loads(answer["result"])
    broken = "a failing <b>.json"
    assert found["all"] == [broken, "b.openloom", "c.openloom"]
    assert found["searched"] == found["look"] == [broken]
    assert found["up"] == [broken, "b.openloom", "c.openloom"]
    assert found["down"] == ["c.openloom", "b.openloom", broken]
    assert found["cards"][:3] == ["2", "0", "1"]
