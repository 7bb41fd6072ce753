"""Who does the work: processes of this machine, or a cluster. An engine takes items and gives outcomes as they come."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Final, Protocol

from loomconv.batch.contents import close_archives
from loomconv.batch.items import Item, Outcome, Settings
from loomconv.batch.leftovers import remove_leftovers
from loomconv.batch.work import convert_item, limit_memory
from loomconv.errors import UsageFault

__all__ = ["Dask", "Engine", "Here", "Local", "partitions", "usable_cores"]

# What goes to a worker at once: tasks of one small file each would cost more than the conversion.
_BYTES: Final = 2 << 20
_FILES: Final = 32
# How many such tasks are under way for each worker, so that none of them waits.
_AHEAD: Final = 3


class Engine(Protocol):
    """Converts items. What it was given and does not give back was not finished."""

    def run(self, items: Iterable[list[Item]], settings: Settings) -> Iterator[list[Outcome]]:
        """The outcomes, in any order, of items that come in partitions; partitions are taken when there is room."""


def partitions(items: Iterable[Item], size: int = _BYTES, count: int = _FILES) -> Iterator[list[Item]]:
    """Items in lists of about so many bytes, and at most so many items."""
    part: list[Item] = []
    held = 0
    for item in items:
        part.append(item)
        held += item.size
        if held >= size or len(part) >= count:
            yield part
            part, held = [], 0
    if part:
        yield part


def _convert_all(items: list[Item], settings: Settings) -> list[Outcome]:
    outcomes = []
    for item in items:
        outcome = convert_item(item, settings)
        outcomes.append(outcome)
        if outcome.fatal:
            break
    return outcomes


@dataclass
class Here:
    """This process, one item after the other."""

    def run(self, items: Iterable[list[Item]], settings: Settings) -> Iterator[list[Outcome]]:
        """See `Engine.run`."""
        try:
            for part in items:
                for item in part:
                    yield [convert_item(item, settings)]
        finally:
            close_archives()


@dataclass
class Local:
    """Worker processes of this machine. One that dies, or takes longer than `timeout` seconds, costs one item."""

    jobs: int
    timeout: float | None = None

    def run(self, items: Iterable[list[Item]], settings: Settings) -> Iterator[list[Outcome]]:
        """See `Engine.run`."""
        from pebble import ProcessPool

        source = iter(items)
        # Work for all of them first: there is no use in more processes than parts.
        first = list(islice(source, self.jobs))
        if not first:
            return
        with _uninterrupted():
            pool: Any = ProcessPool(
                max_workers=len(first),
                context=multiprocessing.get_context("spawn"),
                initializer=_begin_worker,
                initargs=(settings.max_memory,),
            )
            pool.schedule(int)  # only the first task starts the threads that start the workers
        source = chain(first, source)
        # What a failed task held is given out again one by one, so that only the culprit is lost.
        alone: list[list[Item]] = []
        under_way: dict[Any, list[Item]] = {}
        disturbed: set[str] = set()
        done = False
        try:
            while True:
                while len(under_way) < self.jobs * _AHEAD and not (done and not alone):
                    part = alone.pop() if alone else next(source, None)
                    if part is None:
                        done = True
                        continue
                    limit = None if self.timeout is None else self.timeout * len(part)
                    future = pool.schedule(_convert_all, args=[part, settings], timeout=limit)
                    under_way[future] = part
                if not under_way:
                    return
                ready, _ = wait(under_way, return_when=FIRST_COMPLETED)
                for future in ready:
                    part = under_way.pop(future)
                    outcomes = self._outcomes(future, part)
                    if outcomes is None or any(each.status == "stopped" for each in outcomes):
                        disturbed |= {item.target for item in part}
                    if outcomes is None:
                        # The failed task may have written some of them.
                        alone += [[replace(item, bold=True)] for item in part]
                    else:
                        yield outcomes
        finally:
            pool.stop()
            with suppress(OSError):
                pool.join()
            remove_leftovers(disturbed, settings)

    def _outcomes(self, future: Future[Any], part: list[Item]) -> list[Outcome] | None:
        """What the task gave; None when it has to be taken apart to find the culprit."""
        from pebble import ProcessExpired

        try:
            found: list[Outcome] = future.result()
            return found
        except TimeoutError:
            message = f"It took longer than {self.timeout:g} seconds."
        except ProcessExpired as error:
            how = f"signal {-error.exitcode}" if error.exitcode < 0 else f"status {error.exitcode}"
            message = f"The worker process died ({how})."
        except MemoryError:
            message = "There is not enough memory for it."
        except Exception as error:  # what came back could not be understood, or did not come back
            message = f"The worker process failed ({type(error).__name__})."
        if len(part) > 1:
            return None
        return [Outcome(part[0].name, "stopped", message=message)]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let threads that begin here, and the processes that they start, never see Ctrl-C, not even while they begin."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # to start it later would let the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_worker(max_memory: int | None) -> None:
    # Ctrl-C is for the process that hands out the work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit_memory(max_memory)


@dataclass
class Dask:
    """Workers of a Dask cluster: `address` is that of its scheduler. A lost worker's tasks are done again by others."""

    address: str

    def run(self, items: Iterable[list[Item]], settings: Settings) -> Iterator[list[Outcome]]:
        """See `Engine.run`."""
        try:
            from distributed import Client, as_completed
        except ImportError:
            raise UsageFault(
                "the engine dask is not installed", next_step="Install it: `pip install loomconv[distributed]`."
            ) from None
        try:
            client: Any = Client(self.address, timeout=20)
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageFault(
                f"the scheduler does not answer ({type(error).__name__})",
                source=self.address,
                next_step="Check its address and that it runs.",
            ) from None
        with client:
            source = iter(items)
            under_way: dict[str, list[Item]] = {}
            completed: Any = as_completed()
            room = max(4, _AHEAD * sum(client.nthreads().values()))

            def give() -> bool:
                part = next(source, None)
                if part is None:
                    return False
                # Another worker may have done some of it already when it comes to this one.
                part = [replace(item, bold=True) for item in part]
                future = client.submit(_convert_all, part, settings, pure=False, retries=3)
                under_way[future.key] = part
                completed.add(future)
                return True

            while len(under_way) < room and give():
                pass
            for future in completed:
                part = under_way.pop(future.key)
                if future.status == "finished":
                    yield future.result()
                else:
                    message = f"The cluster could not do it ({future.status})."
                    yield [Outcome(item.name, "stopped", message=message) for item in part]
                future.release()
                give()


def usable_cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
