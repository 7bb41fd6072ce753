"""The same work on a cluster, over an object store: a worker is killed on the way, and every file is converted once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loomconv.batch.engines import Dask, Here, partitions
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.ledger import Ledger
from loomconv.batch.run import Batch, Tally
from loomconv.batch.work import convert_item
from tests.batch.harness import loom, run

distributed = pytest.importorskip("distributed")
pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
FILES = 120


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """An object store on this machine, with two buckets."""
    import s3fs
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{port}",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    system = s3fs.S3FileSystem()
    for bucket in ("old", "new"):
        if system.exists(bucket):
            system.rm(bucket, recursive=True)  # all servers of one process have the same buckets
        else:
            system.mkdir(bucket)
    system.invalidate_cache()
    for bucket in ("old", "new"):
        if not system.exists(bucket):
            system.mkdir(bucket)
    yield system
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


def _fill(store: Any) -> None:
    for number in range(FILES):
        store.pipe_file(f"old/looms/{number % 7}/{number}.openloom", loom(f"Loom {number}"))
    store.pipe_file("old/looms/broken.json", b'{"a":,}')
    store.pipe_file("old/looms/readme.txt", b"no loom")


def test_a_cluster_loses_a_worker_and_no_file(store: Any, tmp_path: Path) -> None:
    _fill(store)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    )
    try:
        settings = Settings(target_root="s3://new/looms", target_format="miniloom", suffix=".miniloom.json")
        engine = Dask(cluster.scheduler_address)
        batch = Batch(["s3://old/looms"], settings, engine, tmp_path / "ledger", job_size=1500)
        seen: list[str] = []

        def observe(outcome: Outcome, tally: Tally) -> None:
            seen.append(outcome.name)
            if len(seen) == 10:
                worker = next(iter(cluster.workers.values()))
                os.kill(worker.process.pid, signal.SIGKILL)

        with Ledger(batch.folder) as ledger:
            batch.run(ledger, observe)
            assert ledger.statuses() == {"done": FILES, "failed": 1, "skipped": 1}
    finally:
        cluster.close()
    assert len(seen) == len(set(seen)) == FILES + 2
    store.invalidate_cache()
    assert len(store.find("new/looms")) == FILES
    assert b"Loom 7" in store.cat_file("new/looms/0/7.miniloom.json")


def test_the_command_works_on_a_store_without_a_cluster(
    store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _fill(store)
    monkeypatch.chdir(tmp_path)
    status, _, err = run("s3://old/looms", "s3://new/all", "--to", "openloom-1", "-j1")
    assert status == 4, err
    (folder,) = tmp_path.glob("loomconv-batch-*")
    assert (folder / "report.html").is_file()
    store.invalidate_cache()
    assert len(store.find("new/all")) == FILES
    again = run("s3://old/looms", "s3://new/all", "--to", "openloom-1", "-j1")[2]
    assert again.startswith("0 files to convert")


def test_memory_is_a_store_too(tmp_path: Path) -> None:
    import fsspec

    system = fsspec.filesystem("memory")
    system.pipe_file("/looms/a.openloom", loom("A"))
    settings = Settings(target_root="memory://out", target_format="openloom-1", suffix=".openloom.json")
    item = Item("a.openloom", "memory://looms/a.openloom", "a.openloom.json", 1, "1")
    assert convert_item(item, settings).outputs == ["a.openloom.json"]
    assert b'"A"' in system.cat_file("/out/a.openloom.json")
    found = [each for part in Here().run(partitions([item]), settings) for each in part]
    assert found[0].status == "done"
