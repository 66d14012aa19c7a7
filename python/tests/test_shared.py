"""Tests the shared memory for large arrays: its content, its next user, and that nothing of it is left."""

import gc
import json
import os
import pathlib

import numpy as np
import pytest

from gpuemu import tensors
from gpuemu.client import shared

LARGE = np.arange(shared.LEAST, dtype=np.float32)


def written(request, loan):
    return json.loads(json.dumps(request, default=shared.writer(loan)))


def content(record):
    where = record["memory"]
    link = pathlib.Path(f"/proc/{where['process']}/fd/{where['descriptor']}")
    assert os.readlink(link) == f"/memfd:{where['name']} (deleted)"
    raw = link.read_bytes()[where["offset"] : where["offset"] + where["bytes"]]
    return np.frombuffer(raw, record["dtype"]).reshape(record["shape"])


def segments():
    """Returns the segments that this process has open."""
    gc.collect()
    found = []
    for one in pathlib.Path("/proc/self/fd").iterdir():
        try:
            found.append(os.readlink(one))
        except OSError:
            continue  # The folder's own descriptor.
    return [one for one in found if one.startswith("/memfd:gpuemu-shared-")]


@pytest.mark.parametrize("array", [LARGE, LARGE.reshape(-1, 2).T, LARGE[::-1], LARGE[::2], LARGE.astype(">f4"), LARGE.astype(bool)],
                         ids=["packed", "transposed", "reversed", "stepped", "big-endian", "bool"])  # fmt: skip
def test_arrays_of_every_layout_lie_packed_in_one_memory(array):
    loan = shared.Loan(shared.Pool())
    sent = written({"a": tensors.outgoing(array), "b": tensors.outgoing(LARGE)}, loan)
    assert sent["a"]["memory"]["name"] == sent["b"]["memory"]["name"] and "data" not in sent["a"]
    assert sent["b"]["memory"]["offset"] % shared.ALIGNMENT == 0
    assert np.array_equal(content(sent["a"]), array) and np.array_equal(content(sent["b"]), LARGE)
    assert sent["a"]["strides"] == list(array.strides)


def test_small_arrays_and_those_without_a_memory_go_as_text():
    small = LARGE[: shared.LEAST // 4 - 1]
    assert written(tensors.outgoing(small), shared.Loan(shared.Pool())) == tensors.encode(small)
    assert written(tensors.outgoing(LARGE), None) == tensors.encode(LARGE)
    pool = shared.Pool()
    pool.close()
    assert written(tensors.outgoing(LARGE), shared.Loan(pool)) == tensors.encode(LARGE)
    with pytest.raises(TypeError, match="object cannot be sent"):
        written({"x": object()}, None)


def test_without_memory_to_be_had_arrays_go_as_text(monkeypatch):
    def refuse(*_):
        raise OSError(28, "no space")

    monkeypatch.setattr(os, "pwrite", refuse)
    assert written(tensors.outgoing(LARGE), shared.Loan(shared.Pool())) == tensors.encode(LARGE)
    monkeypatch.setattr(os, "memfd_create", refuse)
    assert written(tensors.outgoing(LARGE), shared.Loan(shared.Pool())) == tensors.encode(LARGE)


def test_the_next_request_uses_a_memory_again_only_after_an_answer():
    pool, names = shared.Pool(), []
    for answered in (True, False, True):
        loan = shared.Loan(pool)
        names.append(written(tensors.outgoing(LARGE), loan)["memory"]["name"])
        loan.give_back(answered=answered)
    assert names[0] == names[1] != names[2]
    first, second = shared.Loan(pool), shared.Loan(pool)
    assert written(tensors.outgoing(LARGE), first)["memory"]["name"] != written(tensors.outgoing(LARGE), second)["memory"]["name"]


def test_no_memory_is_left_over():
    before = segments()
    pool = shared.Pool()
    loans = [shared.Loan(pool) for _ in range(shared.FREE_MAX + 3)]
    for loan in loans:
        written(tensors.outgoing(LARGE), loan)
    assert len(segments()) == len(before) + len(loans)
    for loan in loans:
        loan.give_back(answered=True)
    assert len(segments()) == len(before) + shared.FREE_MAX
    kept = shared.Loan(pool)
    written(tensors.outgoing(np.zeros(shared.KEPT + 1, np.uint8)), kept)
    kept.give_back(answered=True)
    assert len(segments()) == len(before) + shared.FREE_MAX - 1
    pool.empty()
    assert segments() == before
    written(tensors.outgoing(LARGE), shared.Loan(pool))  # This segment is never closed.
    assert segments() == before
