"""Opens and closes a run: sends the project to the nodes, connects to the cluster, starts the actors."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from gpuemu.client import records
from gpuemu.client.progress import Progress
from gpuemu.cluster.connecting import check_address, connected, need_ray
from gpuemu.cluster.head import Head, settings_for
from gpuemu.cluster.project import packed, working_dir
from gpuemu.cluster.runs import Distribution, LostError, Node, Piece, Source, Wishes

INTERRUPTED = "the run was cancelled"


def check_resources(resources: Mapping[str, Any] | None) -> dict[str, float]:
    """Returns Ray's custom resources by name. Raises ValueError for anything else."""
    for name, amount in (resources or {}).items():
        if not isinstance(name, str) or name in ("CPU", "GPU", "memory", "object_store_memory", ""):
            raise ValueError(f"resources has {name!r}; expected names that `ray start --resources` gives a node; CPU and GPU are taken anyway")
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not amount > 0:
            raise ValueError(f"resources: {name} is {amount!r}; expected a number above 0, as in {{\"a100\": 1}}")
    return {name: float(amount) for name, amount in (resources or {}).items()}


def check(address: str, resources: Mapping[str, Any] | None) -> None:
    """Raises ValueError for wrong arguments and ImportError without ray, before anything is started."""
    check_address(address)
    check_resources(resources)
    need_ray()


class _Told:
    """A source that reports its progress."""

    def __init__(self, source: Source, tell: Callable[[int], object]) -> None:
        self.source, self.tell, self.done = source, tell, 0

    def next(self, actors: int) -> Piece | None:
        return self.source.next(actors)

    def take(self, piece: Piece, reply: dict[str, Any]) -> int:
        cases = self.source.take(piece, reply)
        self.done += cases
        self.tell(self.done)
        return cases

    @property
    def over(self) -> bool:
        return self.source.over


class Counted(Source, Protocol):
    """A source that counts its cases and failures."""

    results: dict[str, Any]

    @property
    def cases(self) -> int: ...


def teller(on_progress: Progress | None, source: Counted) -> Callable[[int], object]:
    """Returns a function that reports the progress of a run to a caller in Python."""
    began = time.monotonic()

    def tell(done: int) -> None:
        if on_progress is not None:
            rate = done / max(time.monotonic() - began, 1e-9)
            on_progress(records.JobStatus(state="running", done=done, total=source.cases, failures=source.results["failed"], rate=rate))

    return tell


class OpenCluster:
    """Runs one source after the other on the actors of one cluster."""

    def __init__(self, distribution: Distribution, put: Callable[[Any], Any]) -> None:
        self.distribution, self.put = distribution, put
        self.interrupted = False
        self._before: list[Node] = []
        self._redone = 0

    def run(self, source: Source, tell: Callable[[int], object]) -> str:
        """Runs a source. Returns why it ended early; "" if it did not."""
        try:
            self.distribution.run(_Told(source, tell))
        except LostError as problem:
            return str(problem)
        except KeyboardInterrupt:
            self.interrupted = True
        self.interrupted = self.interrupted or (self.distribution.stopped() and not source.over)
        return INTERRUPTED if self.interrupted else ""

    def take_nodes(self) -> list[Node]:
        """Returns the work of the nodes since the last call."""
        before = {one.node: one for one in self._before}
        now = [replace(one) for one in self.distribution.nodes]
        self._before = [replace(one) for one in now]
        for one in now:
            if one.node in before:
                one.cases -= before[one.node].cases
                one.seconds -= before[one.node].seconds
        return now

    def take_redone(self) -> int:
        """Returns how many chunks were repeated since the last call."""
        redone, self._redone = self.distribution.chunks_redone - self._redone, self.distribution.chunks_redone
        return redone


@contextlib.contextmanager
def opened(file: Path, head: Head, address: str, resources: Mapping[str, Any] | None,
           stopped: Callable[[], bool] = lambda: False) -> Iterator[OpenCluster]:  # fmt: skip
    """Opens the cluster; the actors live until the block ends."""
    wanted, place = check_resources(resources), check_address(address)
    ray = need_ray()
    backend = head.backend
    gpus = backend == "cuda"
    with working_dir(file) as folder, connected(place, folder, gpus, stopped) as is_sent:
        package = None if is_sent else ray.put(packed(folder))
        distribution = Distribution(ray, Wishes(gpus, wanted, settings_for(backend), str(file.parent), package), stopped)
        try:
            yield OpenCluster(distribution, ray.put)
        finally:
            distribution.close()
