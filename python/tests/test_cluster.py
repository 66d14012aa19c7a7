"""Tests cluster runs without a cluster: how they are divided, merged in order, repeated after losses, and what is sent to the
nodes."""
import dataclasses
import pathlib
import random
from types import SimpleNamespace

import pytest
from gpuemu.cluster import actor, connecting, opening, project, ranges, searching
from gpuemu.cluster.fuzzing import FuzzSource, FuzzWish
from gpuemu.cluster.ranges import Range
from gpuemu.cluster.runs import Distribution, LostError, Wishes
from gpuemu.cluster.testing import TestSource, TestWish, groups_of
from gpuemu.errors import ConnectionError, InvalidRequestError, LimitExceededError, OpNotFoundError, VersionMismatchError

import gpuemu

hypothesis = pytest.importorskip("hypothesis")
given, settings, some = hypothesis.given, hypothesis.settings, hypothesis.strategies

SIZES = [32, 32, 64, 64, 128, 128, 256, 256, 512, 512, 1024, 1024]


def test_epochs_have_the_sizes_that_every_daemon_has():
    assert [one.count for one in ranges.epochs(sum(SIZES))] == SIZES
    assert [ranges.epoch_of(number) for number in (0, 31, 32, 64, 1983, 1984, 3007, 3008)] == [0, 0, 1, 2, 9, 10, 10, 11]


@given(some.integers(1, 20000), some.integers(1, 3000), some.integers(0, 64))
def test_chunks_are_all_cases_once_and_none_crosses_the_border_of_an_epoch(cases, most, actors):
    parts = [part for epoch in ranges.epochs(cases) for part in ranges.chunks(epoch, most, actors)]
    assert [number for part in parts for number in range(part.first, part.last)] == list(range(cases))
    assert all(part.count <= most and ranges.epoch_of(part.first) == ranges.epoch_of(part.last - 1) for part in parts)


ENTRY = some.fixed_dictionaries({"elements": some.integers(0, 9), "features": some.lists(some.integers(0, 20), max_size=5),
                                 "repro_info": some.sampled_from([{"dtype": "float32"}, {"dtype": "float16"}])})


@given(some.lists(ENTRY, max_size=30))
def test_a_cover_reaches_everything_with_nothing_to_spare(entries):
    def reached(some_entries):
        return {(one["repro_info"]["dtype"], feature) for one in some_entries for feature in one["features"]}
    kept = searching.smallest_cover(entries, 1000)
    assert reached(kept) == reached(entries) and [one["elements"] for one in kept] == sorted(one["elements"] for one in kept)
    assert all(len(reached(kept[: i + 1])) > len(reached(kept[:i])) for i in range(len(kept)))
    assert searching.smallest_cover(entries, 2) == kept[:2]


# --- a daemon that computes the reached features from case numbers and the corpus, instantly


def features_of(number, followed):
    draw = random.Random(number * 1000 + followed)
    return sorted(draw.sample(range(200), 3))


def told_by(request, corpus):
    """Returns a daemon's answer to FuzzOp: cases build on the entries of the corpus, every seventh fails, entries without
    features run first."""
    known = {feature for one in corpus for feature in one.get("features", ())}
    replays = [one["repro_info"]["seed"] for one in corpus if not one.get("features")]
    numbers = [*[(None, seed) for seed in replays],
               *[(n, n) for n in range(request["first_case"], request["first_case"] + request["iterations"])]]
    results, cases = [], []
    followed = sum(one["repro_info"]["seed"] for one in corpus if one.get("features"))
    for number, seed in numbers:
        passed = seed % 7 != 3
        results.append({"op_name": request["op_name"], "seed": seed, "passed": passed})
        features = features_of(seed, followed)
        if not known.issuperset(features):
            known.update(features)
            cases.append({"repro_info": {"dtype": "float32", "seed": seed}, "passed": passed, "features": features, "elements": seed % 5,
                          "blocks": features[:1], "edges": features[1:], **({} if number is None else {"number": number})})
        if not passed and request["fail_fast"]:
            break
    failures = [one for one in results if not one["passed"]]
    reply = {"type": "FuzzResults", "total": len(results), "passed": len(results) - len(failures), "failed": len(failures), "failures": failures,
             "results": results, "notes": ["n"], "proofs": [], "search": {"replayed": len(replays), "features": {"cases": cases, "blocks": [1, 2], "edges": [3]}}}
    return reply if len(results) == len(numbers) else {**reply, "cases_complete": len(results) - len(replays)}


class Head:
    def __init__(self, start=()):
        self.start, self.kept, self.finished = list(start), [], None

    def corpus(self, op):
        return self.start

    def store(self, results):
        self.kept += results

    def stored(self):
        pass

    def finish(self, kind, answers, **members):
        self.finished = members
        if kind == "FinishTests":
            return {"type": answers, **members}
        return {"failures": members["failures"], "warnings": [], "proofs": [], "notes": [], "corpus_digest": str(members["found"])}


def run_in_any_order(source, actors, draw):
    """Runs a source with actors that finish in random order."""
    busy = []
    while not source.over:
        while len(busy) < actors and (piece := source.next(actors)) is not None:
            busy.append(piece)
        piece = busy.pop(draw.randrange(len(busy)))
        source.take(piece, told_by(piece.request, (piece.shared or {}).get("corpus", [])))


def essence(head, result):
    return result, head.kept, head.finished


@settings(max_examples=40, deadline=None)
@given(some.integers(1, 900), some.integers(1, 12), some.integers(1, 300), some.booleans(), some.integers(0, 2**32))
def test_no_number_of_actors_and_no_order_changes_what_comes_of_a_run(iterations, actors, chunk, fail_fast, seed):
    found = []
    for some_actors, most in ((1, 10**6), (actors, chunk)):
        head = Head([{"repro_info": {"dtype": "float32", "seed": 8000 + 7 * i}} for i in range(5)])
        source = FuzzSource("op", FuzzWish(iterations, 1, chunk=most, fail_fast=fail_fast), head)
        run_in_any_order(source, some_actors, random.Random(seed))
        found.append(essence(head, source.finish("")))
    assert found[1] == found[0]
    results, kept, finished = found[0]
    assert results["total"] == len(kept) and results["search"]["replayed"] == 5 and finished["keep"] is True
    assert fail_fast or results["total"] == iterations + 5
    assert not fail_fast or results["failed"] <= 1


def test_an_interrupted_run_keeps_the_beginning_that_is_complete():
    head = Head()
    source = FuzzSource("op", FuzzWish(900, 1, chunk=32), head)
    pieces = [source.next(2) for _ in range(2)]
    for piece in pieces[1:]:
        source.take(piece, told_by(piece.request, []))
    source.take(pieces[0], told_by(pieces[0].request, []))
    late = [source.next(2) for _ in range(2)]
    source.take(late[1], told_by(late[1].request, []))
    results = source.finish("the run was cancelled")
    assert results["cases_complete"] == results["total"] == len(head.kept) == late[0].request["first_case"]
    assert results["incomplete"] == "the run was cancelled"


def test_an_op_that_cannot_run_is_the_error_that_its_daemon_tells():
    source = FuzzSource("op", FuzzWish(500, 1), Head())
    error = {"type": "Error", "code": "ReferenceScriptFailed", "message": "the reference answers no case"}
    while not source.over:
        source.take(source.next(1), error)
    assert source.merged < 4 and source.finish("") == error


def test_a_run_of_which_no_case_ran_is_an_error():
    source = FuzzSource("op", FuzzWish(500, 1), Head())
    while not source.over:
        source.take(source.next(1), {"type": "FuzzResults", "total": 0, "passed": 0, "failed": 0, "failures": [], "results": []})
    told = source.finish("")
    assert told["type"] == "Error" and "no kernel supports any of its cases" in told["message"]


# --- a cluster whose nodes and losses the test controls


class Lost(Exception):
    pass


@dataclasses.dataclass(eq=False)
class Answer:
    kind: str
    node: str
    request: object = None
    shared: object = None


class FakeRay:
    """Answers to calls are computed when the caller waits for them. `lose(label, request)` returns True if the actor dies during
    the call."""

    exceptions = SimpleNamespace(RayError=Lost)
    cloudpickle = SimpleNamespace(register_pickle_by_value=lambda module: None)

    def __init__(self, nodes, lose=lambda node, request: False, version=gpuemu.__version__):
        self.names, self.lose, self.version, self.killed = nodes, lose, version, []

    def nodes(self):
        return [{"NodeID": name, "NodeManagerHostname": "host", "Alive": True, "Resources": {"CPU": cores}} for name, cores in self.names.items()]

    def remote(self, what):
        made = SimpleNamespace(node="")
        def options(scheduling_strategy, **_):
            made.node = scheduling_strategy
            return made
        def start(*arguments):
            if what is not actor.Runner:
                return Answer("probe", made.node)
            node = made.node
            def call(kind):
                return SimpleNamespace(remote=lambda request=None, shared=None: Answer(kind, node, request, shared))
            return SimpleNamespace(hello=call("hello"), run=call("run"), close=call("close"))
        made.options, made.remote = options, start
        return made

    def wait(self, waiting, num_returns=1, timeout=0):
        return waiting[-num_returns:], waiting[:-num_returns]

    def get(self, answer):
        if answer.kind == "probe":
            return "host", self.version
        if answer.kind == "hello":
            return 1
        if self.lose(answer.node, answer.request):
            raise Lost
        return told_by(answer.request, (answer.shared or {}).get("corpus", []))

    def kill(self, handle):
        self.killed.append(handle)


def spread(ray, source, stopped=lambda: False):
    one = Distribution(ray, Wishes(False, {}, {}, "/home"), stopped)
    one._where = lambda name: name
    one.run(source)
    return one


def test_a_lost_chunk_is_done_by_another_node_and_counted_once():
    head, alone = Head(), Head()
    lost = []
    def lose(node, request):
        is_first = node == "b" * 16 and request["first_case"] not in lost and len(lost) < 3
        lost.extend([request["first_case"]] * is_first)
        return is_first
    source = FuzzSource("op", FuzzWish(700, 1, chunk=64), head)
    one = spread(FakeRay({"a" * 16: 2, "b" * 16: 1}, lose), source)
    whole = FuzzSource("op", FuzzWish(700, 1), alone)
    spread(FakeRay({"c" * 16: 1}), whole)
    assert 1 <= len(lost) == one.chunks_redone
    assert essence(head, source.finish("")) == essence(alone, whole.finish(""))
    assert sum(node.cases for node in one.nodes) == 700 and {node.node for node in one.nodes} == {"a" * 8, "b" * 8}


def test_an_actor_has_its_next_chunk_before_the_reply_of_the_last_one_is_merged():
    told = []
    class Noting(FuzzSource):
        def next(self, actors):
            piece = super().next(actors)
            told.extend(["begin"] * (piece is not None))
            return piece
        def take(self, piece, reply):
            told.append("merge")
            return super().take(piece, reply)
    spread(FakeRay({"a" * 16: 1}), Noting("op", FuzzWish(700, 1, guided=False, chunk=64), Head()))
    chunks = told.count("merge")
    assert chunks > 10 and told == ["begin"] + ["begin", "merge"] * (chunks - 1) + ["merge"]


@pytest.mark.parametrize("actors", [1, 2])
@pytest.mark.parametrize("guided", [False, True])
def test_a_chunk_of_an_op_that_ended_is_not_merged_into_the_next_op(guided, actors):
    class InTurn(FakeRay):
        def wait(self, waiting, num_returns=1, timeout=0):
            return waiting[:1], waiting[1:]
        def get(self, answer):
            if answer.kind == "run" and answer.request["op_name"] == "broken":
                return {"type": "Error", "code": "ReferenceScriptFailed", "message": "broken has no reference"}
            return super().get(answer)
    wish = FuzzWish(500, 1, guided=guided)
    one = Distribution(InTurn({"a" * 16: actors}), Wishes(False, {}, {}, "/home"), lambda: False)
    one._where = lambda name: name
    one.run(FuzzSource("broken", wish, Head()))
    head, alone = Head(), Head()
    second, whole = FuzzSource("ok", wish, head), FuzzSource("ok", wish, alone)
    one.run(second)
    spread(FakeRay({"c" * 16: 1}), whole)
    assert essence(head, second.finish("")) == essence(alone, whole.finish(""))


def test_a_node_deletes_passing_results_once_there_are_many_and_failures_at_once():
    pruned = []
    runner = object.__new__(actor.Runner)
    runner._kept, runner.client = 0, SimpleNamespace(prune_storage=lambda **kinds: pruned.append(kinds))
    for _ in range(actor.KEPT_MAX // 256 - 1):
        runner._forget({"total": 256, "failed": 0})
    assert pruned == []
    runner._forget({"total": 256, "failed": 0})
    assert pruned == [{"passing": True, "failures": True}]
    runner._forget({"total": 256, "failed": 1})
    assert len(pruned) == 2
    runner._forget({"type": "Error", "code": "PtxParseError"})
    assert len(pruned) == 2


def test_a_chunk_that_three_nodes_lose_ends_the_run_with_what_is_complete():
    head = Head()
    source = FuzzSource("op", FuzzWish(700, 1, chunk=64), head)
    with pytest.raises(LostError, match=r"^chunk 64\.\.127 was lost on 3 nodes \(host/[ab]{8}, host/[ab]{8}, host/[ab]{8}\)$"):
        spread(FakeRay({"a" * 16: 1, "b" * 16: 1}, lambda node, request: request["first_case"] == 64), source)
    assert source.finish("lost")["cases_complete"] == 64 == len(head.kept)


def test_a_node_with_another_version_is_named():
    with pytest.raises(VersionMismatchError, match=f"^node host has gpuemu 0.9, this is {gpuemu.__version__}$"):
        spread(FakeRay({"a": 1}, version="0.9"), FuzzSource("op", FuzzWish(10, 1), Head()))
    with pytest.raises(VersionMismatchError, match="^node host has no gpuemu, this is"):
        spread(FakeRay({"a": 1}, version=""), FuzzSource("op", FuzzWish(10, 1), Head()))


def test_a_cluster_without_room_is_told(monkeypatch):
    monkeypatch.setattr("gpuemu.cluster.runs.NOBODY_SECONDS", 0.1)
    monkeypatch.setattr("gpuemu.cluster.runs.NODES_SECONDS", 0.05)
    with pytest.raises(ConnectionError, match="no node of the cluster has what a process takes: {'CPU': 1}"):
        spread(FakeRay({"a": 0}), FuzzSource("op", FuzzWish(10, 1), Head()))


def test_room_is_what_the_scarcest_resource_leaves():
    wishes = Wishes(False, {"a100": 2.0}, {}, "/")
    assert [wishes.room(has) for has in ({"CPU": 8.0, "a100": 4.0}, {"CPU": 1.0, "a100": 9.0}, {"CPU": 8.0})] == [2, 1, 0]
    assert Wishes(True, {}, {}, "/").room({"CPU": 64.0, "GPU": 4.0}) == 4


# --- tests


def test_the_pieces_of_tests_are_merged_op_by_op():
    wish = TestWish([("a", "float32"), ("b", "float32"), ("c", "float16")], 100, 1, frozenset({"c"}), chunk=40)
    head = Head()
    source, draw, asked = TestSource(wish, head), random.Random(3), []
    while not source.over:
        while (piece := source.next(3)) is not None:
            asked.append(piece)
        piece = asked.pop(draw.randrange(len(asked)))
        cases = piece.request["cases"]
        told = {"op_name": piece.request["ops"][0], "dtype": piece.request["dtypes"][0], "first": piece.request["first_case"], "cases": cases}
        source.take(piece, {"type": "TestReport", "total": cases, "failed": 0, "ops": [told], "results": [dict(told)]})
    reports = source.finish("")["reports"]
    assert [(one["op_name"], one["first"]) for one in reports] == sorted((one["op_name"], one["first"]) for one in reports)
    assert sum(one["cases"] for one in reports) == 300 and head.kept == reports


def test_what_did_not_run_is_told_of_each_op():
    source = TestSource(TestWish([("a", "float32"), ("b", "float32")], 64, 1, fail_fast=True), Head())
    piece = source.next(1)
    source.take(piece, {"type": "TestReport", "total": 16, "failed": 1, "ops": []})
    assert source.over
    left = {one["op_name"]: one["not_run"] for one in source.finish("")["reports"]}
    assert left == {"a": 64 - piece.request["cases"], "b": 64}


def test_ops_and_dtypes_that_there_are_not():
    known = [{"name": "a", "dtypes": ["float32"]}, {"name": "b", "dtypes": ["float16", "float32"]}]
    assert groups_of(known, [], []) == [("a", "float32"), ("b", "float16"), ("b", "float32")]
    assert groups_of(known, [], ["float16"]) == [("b", "float16")]
    with pytest.raises(OpNotFoundError, match="no op 'x'; there are: a, b"):
        groups_of(known, ["x"], [])
    with pytest.raises(InvalidRequestError, match="op 'a' has none of the dtypes float16; it has: float32"):
        groups_of(known, ["a"], ["float16"])


# --- arguments, and what is sent to the nodes


@pytest.mark.parametrize("right", ["auto", "local:1", "local:64", "head:6379", "[::1]:6379", "ray://head:10001"])
def test_an_address(right):
    assert connecting.check_address(right) == right


@pytest.mark.parametrize("wrong", ["", "automatic", "local:0", "local:65", "local:x", "head", ":1", "head:0", "head:65536", "ray://", "http://h:1", None])
def test_what_is_no_address(wrong):
    with pytest.raises(ValueError, match="expected"):
        connecting.check_address(wrong)


@pytest.mark.parametrize("wrong", [{"CPU": 1}, {"a100": 0}, {"a100": "1"}, {"a100": True}, {"": 1}])
def test_what_is_no_resource(wrong):
    with pytest.raises(ValueError, match="resources"):
        opening.check_resources(wrong)


def test_the_nodes_get_the_project_without_what_no_case_needs(tmp_path):
    for name in ("own.toml", "k/a.cu", "refs/r.py", "refs/data.bin", ".git/x", "build/y", "refs/__pycache__/z.pyc", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / "link.py").symlink_to(tmp_path / "refs/r.py")
    with project.working_dir(project.project_file(tmp_path / "own.toml")) as folder:
        sent = {str(path.relative_to(folder)) for path in pathlib.Path(folder).rglob("*") if path.is_file()}
        assert sent == {"gpuemu.toml", "k/a.cu", "refs/r.py", "refs/data.bin"}
        assert (pathlib.Path(folder) / "gpuemu.toml").read_text() == "own.toml"
        project.unpacked(project.packed(folder), str(tmp_path / "there"))
        assert (tmp_path / "there/k/a.cu").read_text() == "k/a.cu"
    assert not pathlib.Path(folder).exists()


def test_a_project_that_is_too_large_is_told_with_its_largest_file(tmp_path):
    (tmp_path / "gpuemu.toml").write_text("")
    (tmp_path / "big.bin").write_bytes(b"x" * 3000)
    with pytest.raises(LimitExceededError, match="largest file is big.bin"), project.working_dir(tmp_path / "gpuemu.toml", limit=2000):
        pass


def test_findings_name_files_where_they_are_at_home():
    value = {"file": "/tmp/ray/pkg/k.cu", "lines": [1, "at /tmp/ray/pkg/k.cu:3", None]}
    assert actor.relocated(value, "/tmp/ray/pkg", "/home/me") == {"file": "/home/me/k.cu", "lines": [1, "at /home/me/k.cu:3", None]}


def test_wrong_arguments_are_told_before_anything_starts(tmp_path):
    with pytest.raises(ValueError, match="address 'nowhere'"):
        gpuemu.cluster.fuzz(tmp_path, address="nowhere")
    with pytest.raises(ValueError, match="a100"):
        gpuemu.cluster.test(tmp_path, resources={"a100": -1})


def test_without_ray_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(ImportError, match=r"^--cluster needs the package ray: pip install gpuemu\[ray\]$"):
        gpuemu.cluster.fuzz(tmp_path)


def test_cases_of_a_range_are_counted_from_one_end_to_the_other():
    assert str(Range(256, 512)) == "256..511" and Range(256, 512).count == 256
