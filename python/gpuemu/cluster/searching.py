"""Merges the results of guided ranges in the order of their cases, into the corpus for later ranges."""

from __future__ import annotations

from typing import Any

Entry = dict[str, Any]
ENTRIES_MAX = 1024  # The same limit as for a run on one machine.


def smallest_cover(entries: list[Entry], most: int) -> list[Entry]:
    """Returns entries that together reach everything that `entries` reach: small ones first, without entries that add nothing."""
    known: dict[str, set[int]] = {}
    kept: list[Entry] = []
    for one in sorted(entries, key=lambda entry: int(entry.get("elements", 0))):
        reached = known.setdefault(one["repro_info"]["dtype"], set())
        if len(kept) < most and not reached.issuperset(one["features"]):
            reached.update(one["features"])
            kept.append(one)
    return kept


class Search:
    """The corpus of a run. add() is called for each range in order."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.grown = self.replayed = 0
        self.counted = False  # True if the device counts coverage; otherwise no case builds on another.
        self._known: dict[str, set[int]] = {}
        self._reached: tuple[set[int], set[int]] = (set(), set())
        self._all: tuple[set[int], set[int]] = (set(), set())

    def add(self, told: dict[str, Any] | None) -> None:
        """Adds `search` of a range's results."""
        if told is None:
            return
        self.counted = True
        self.replayed += told["replayed"]
        for one in told["features"]["cases"]:
            self._learn(one)
        for ids, name in zip(self._all, ("blocks", "edges"), strict=True):
            ids.update(told["features"][name])

    def _learn(self, one: Entry) -> None:
        known = self._known.setdefault(one["repro_info"]["dtype"], set())
        if known.issuperset(one["features"]):
            return
        known.update(one["features"])
        for ids, name in zip(self._reached, ("blocks", "edges"), strict=True):
            ids.update(one.get(name, ()))
        # Cases derived from a failing case would fail as well.
        if not one.get("passed", True):
            return
        self.grown += one.get("number") is not None
        self.entries.append({name: value for name, value in one.items() if name not in ("blocks", "edges")})

    def end_epoch(self) -> None:
        """Called when all ranges of an epoch were added."""
        if len(self.entries) <= ENTRIES_MAX:
            return
        kept = {id(one) for one in smallest_cover(self.entries, ENTRIES_MAX)}
        self.entries = [one for one in self.entries if id(one) in kept]

    def report(self, finished: dict[str, Any], epochs: int) -> dict[str, Any]:
        """Returns `search` of the whole run; `finished`: the head daemon's result for the corpus."""
        names = ("blocks", "blocks_total", "edges", "edges_total")
        sets = (self._reached[0], self._all[0], self._reached[1], self._all[1])
        return {
            "replayed": self.replayed, "grown": self.grown, "corpus": finished.get("corpus", 0),
            **{name: len(ids) for name, ids in zip(names, sets, strict=True)}, "epochs": epochs,
            "corpus_digest": finished.get("corpus_digest", ""), "start_digest": finished.get("start_digest", ""),
        }  # fmt: skip
