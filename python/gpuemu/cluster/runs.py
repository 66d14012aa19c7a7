"""Distributes the pieces of a run to actors on the nodes of a cluster. Pieces that are lost go to other actors."""

from __future__ import annotations

import collections
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import gpuemu
import gpuemu.cluster.probe as probe  # Imported as a module, so that Ray can send it by value.
from gpuemu.cluster.actor import Runner
from gpuemu.errors import ConnectionError, VersionMismatchError

LOSSES_MAX = 3
STARTS_MAX = 3  # Failed starts of actors after which a node is not used.
NODES_SECONDS = 1.0  # Interval between two queries of the list of nodes.
WAIT_SECONDS = 0.2
NOBODY_SECONDS = 60.0  # The run fails after this long without any actor.


@dataclass
class Node:
    """The work of a node in a run. seconds: the sum over its actors."""

    node: str
    host: str
    actors: int = 0
    cases: int = 0
    seconds: float = 0.0


@dataclass
class Piece:
    """Cases for one actor. `name` is for messages: "chunk 256..511"."""

    number: int  # Its number among all pieces of the run.
    name: str
    request: dict[str, Any]
    shared: Any = None  # Members of the request that many pieces share, as a reference of Ray.
    lost: list[str] = field(default_factory=list)  # The nodes that lost it.


class LostError(Exception):
    """Raised when a piece was lost too often; the run ends."""


class Source(Protocol):
    """Supplies pieces and takes their results."""

    def next(self, actors: int) -> Piece | None:
        """Returns a piece that may begin now; None if there is none, or none yet."""

    def take(self, piece: Piece, reply: dict[str, Any]) -> int:
        """Takes the reply of a piece; replies come in any order. Returns how many cases it counts."""

    @property
    def over(self) -> bool:
        """True when no more pieces will come."""


@dataclass
class _Place:
    """A node of the cluster."""

    told: Node
    room: int  # Number of actors that its resources allow.
    probe: Any = None
    failed_starts: int = 0
    actors: list[_Actor] = field(default_factory=list)
    alive: bool = True

    @property
    def label(self) -> str:
        return f"{self.told.host}/{self.told.node}"


@dataclass(eq=False)
class _Actor:
    handle: Any
    place: _Place
    ready: bool = False
    piece: Piece | None = None
    began: float = 0.0


@dataclass(frozen=True)
class Wishes:
    """Resources and arguments of each actor."""

    gpus: bool
    resources: dict[str, float]
    settings: dict[str, str]
    home: str
    package: Any = None  # A reference of Ray to the project's files, if they are in no working directory.

    def room(self, has: dict[str, float]) -> int:
        needs = {"GPU" if self.gpus else "CPU": 1.0, **self.resources}
        return min(int(has.get(name, 0) / amount) for name, amount in needs.items())


class Distribution:
    """One run on a cluster to which this process is connected."""

    def __init__(self, ray: Any, wishes: Wishes, stopped: Callable[[], bool]) -> None:
        self.ray, self.wishes, self.stopped = ray, wishes, stopped
        self.chunks_redone = 0
        self._places: dict[str, _Place] = {}
        self._waiting: dict[Any, _Actor | _Place] = {}  # The key is the reference with which Ray answers.
        self._again: collections.deque[Piece] = collections.deque()
        self._looked = self._had_actor = 0.0

    @property
    def nodes(self) -> list[Node]:
        """Returns the nodes that had an actor."""
        return [one.told for one in self._places.values() if one.told.actors]

    def run(self, source: Source) -> None:
        """Runs until the source is over or the run is stopped. Raises LostError, and ClientError if the cluster cannot be
        used."""
        self._had_actor = time.monotonic()
        self._drop_pieces()
        while not source.over and not self.stopped():
            self._look()
            self._assign(source)
            if not self._waiting:
                time.sleep(WAIT_SECONDS)
                continue
            ready, _ = self.ray.wait(list(self._waiting), num_returns=1, timeout=WAIT_SECONDS)
            for one in ready:
                self._ended(one, source)

    # --- nodes and actors

    def _look(self) -> None:
        now = time.monotonic()
        if any(one.actors for one in self._places.values()):
            self._had_actor = now
        if now < self._looked + NODES_SECONDS:
            return
        self._looked = now
        for one in self.ray.nodes():
            name = one["NodeID"]
            if one["Alive"] and name not in self._places:
                self._places[name] = self._new_place(one)
            if name in self._places:
                self._places[name].alive = bool(one["Alive"])
        for place in self._places.values():
            if place.alive and place.probe is None and place.failed_starts < STARTS_MAX:
                for _ in range(place.room - len(place.actors)):
                    self._start(place)
        if now > self._had_actor + NOBODY_SECONDS:
            what = {"GPU" if self.wishes.gpus else "CPU": 1, **self.wishes.resources}
            raise ConnectionError(f"no node of the cluster has what a process takes: {what}; --cluster-resources says what that is")

    def _where(self, name: str) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return NodeAffinitySchedulingStrategy(name, soft=False)

    def _new_place(self, node: dict[str, Any]) -> _Place:
        self.ray.cloudpickle.register_pickle_by_value(probe)
        look = self.ray.remote(probe.look).options(num_cpus=0, max_retries=0, scheduling_strategy=self._where(node["NodeID"]))
        place = _Place(Node(node["NodeID"][:8], node.get("NodeManagerHostname", "")), self.wishes.room(node.get("Resources", {})))
        place.probe = look.remote()
        self._waiting[place.probe] = place
        return place

    def _start(self, place: _Place) -> None:
        name = next(one for one, other in self._places.items() if other is place)
        kind = self.ray.remote(Runner).options(
            num_cpus=0 if self.wishes.gpus else 1, num_gpus=1 if self.wishes.gpus else 0, resources=self.wishes.resources or None,
            max_restarts=0, max_task_retries=0, scheduling_strategy=self._where(name),
        )  # fmt: skip
        made = _Actor(kind.remote(self.wishes.settings, self.wishes.home, self.wishes.package), place)
        place.actors.append(made)
        self._waiting[made.handle.hello.remote()] = made

    def _looked_at(self, place: _Place, answer: Any) -> None:
        place.probe = None
        try:
            host, version = self.ray.get(answer)
        except self.ray.exceptions.RayError:
            place.failed_starts += 1
            return
        place.told.host = host
        if version != gpuemu.__version__:
            has = f"gpuemu {version}" if version else "no gpuemu"
            raise VersionMismatchError(f"node {host} has {has}, this is {gpuemu.__version__}")
        self._looked = 0.0

    # --- pieces

    def _drop_pieces(self) -> None:
        """Forgets what is left of an earlier source. An actor that still runs a piece of it does its calls in order."""
        self._again.clear()
        for answer, one in list(self._waiting.items()):
            if isinstance(one, _Actor) and one.piece is not None:
                one.piece = None
                del self._waiting[answer]

    def _assign(self, source: Source) -> None:
        actors = [one for place in self._places.values() for one in place.actors]
        for one in actors:
            if one.ready and one.piece is None:
                piece = self._again_for(one, actors) or source.next(len(actors))
                if piece is not None:
                    self._give(piece, one)

    def _again_for(self, one: _Actor, actors: list[_Actor]) -> Piece | None:
        """Returns a lost piece for this actor. If there are other nodes, the piece must not have been lost by this one."""
        others = any(other.place is not one.place for other in actors)
        for piece in self._again:
            if one.place.label not in piece.lost or not others:
                self._again.remove(piece)
                self.chunks_redone += 1
                return piece
        return None

    def _give(self, piece: Piece, to: _Actor) -> None:
        to.piece, to.began = piece, time.monotonic()
        self._waiting[to.handle.run.remote(piece.request, piece.shared)] = to

    def _ended(self, answer: Any, source: Source) -> None:
        one = self._waiting.pop(answer)
        if isinstance(one, _Place):
            self._looked_at(one, answer)
            return
        piece, one.piece = one.piece, None
        try:
            reply = self.ray.get(answer)
        except self.ray.exceptions.RayError as problem:
            self._lose(one, piece, problem)
            return
        if piece is None:
            one.ready = True
            one.place.told.actors += 1
            return
        one.place.told.seconds += time.monotonic() - one.began
        self._assign(source)  # Before the reply is merged, so that the actor does not wait for that.
        one.place.told.cases += source.take(piece, reply)

    def _lose(self, one: _Actor, piece: Piece | None, problem: Exception) -> None:
        one.place.actors.remove(one)
        self.ray.kill(one.handle)
        if piece is None:
            self._failed_start(one.place, problem)
            return
        piece.lost.append(one.place.label)
        if len(piece.lost) >= LOSSES_MAX:
            raise LostError(f"{piece.name} was lost on {LOSSES_MAX} nodes ({', '.join(piece.lost)})")
        self._again.append(piece)

    def _failed_start(self, place: _Place, problem: Exception) -> None:
        place.failed_starts += 1
        others = any(one.alive and one.failed_starts < STARTS_MAX for one in self._places.values())
        if place.failed_starts >= STARTS_MAX and place.alive and not others:
            why = getattr(problem, "cause", None) or problem
            raise ConnectionError(f"node {place.label} starts no daemon: {why}")

    def close(self) -> None:
        """Ends the actors and with them their daemons."""
        actors = [one for place in self._places.values() for one in place.actors]
        closing = [one.handle.close.remote() for one in actors if one.ready and one.piece is None]
        if closing:
            self.ray.wait(closing, num_returns=len(closing), timeout=5)
        for one in actors:
            self.ray.kill(one.handle)
