"""A guided search comes to the same for any number of lanes, wherever it ends, and in ranges that somebody merges."""
import re
import shutil
import time

import pytest

CONFIG = """[validation]
seed = 5
[runtime]
workers = {workers}
[[ops]]
name = "steps"
kernel = "steps"
reference = "steps.py"
inputs = [{{ name = "x", shape = ["n"], range = [-10.0, 10.0] }}]
outputs = [{{ name = "y", shape = ["n"] }}]
dims = {{ n = [1, 2000] }}
dtypes = ["float32", "float64"]
[[kernels]]
name = "steps"
source = "steps.cu"
launches = [{{ entry = "steps_{{dtype}}", grid = "cdiv(n, 128)", block = 128, args = ["x", "y", "i32:n"] }}]
"""
# What it reaches depends on n in many ways; where n % 7 is 3 the last element stays unwritten.
KERNEL = """template <typename T> __device__ void steps(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n - (n % 7 == 3 ? 1 : 0)) return;
  T v = x[i];
  for (int left = n % 40; left > 0; left /= 2)
    __nanosleep(left % 3 == 1 ? 1 : 2);
  if (n == 1333)
    __nanosleep(v > T(0) ? 1 : 2);
  if (n % 64 == 0 && v < T(-9))
    __nanosleep(3);
  y[i] = v < T(0) ? T(0) : v;
}
extern "C" __global__ void steps_float32(const float* x, float* y, int n) { steps(x, y, n); }
extern "C" __global__ void steps_float64(const double* x, double* y, int n) { steps(x, y, n); }
"""
REFERENCE = "import numpy as np\n\ndef reference(x):\n    return np.maximum(x, 0)\n"
SIZES = [32, 32, 64, 64, 128, 128]  # Cases in each of the first epochs.
EPOCHS = [(sum(SIZES[:i]), sum(SIZES[:i + 1])) for i in range(len(SIZES))]


@pytest.fixture(scope="module")
def home(new_home):
    return new_home({"gpuemu.toml": CONFIG.format(workers=1), "steps.cu": KERNEL, "steps.py": REFERENCE})


def begin(home, workers):
    """A new daemon with so many lanes and nothing stored."""
    home.stop()
    shutil.rmtree(home.home / "db", ignore_errors=True)
    (home.project / "gpuemu.toml").write_text(CONFIG.format(workers=workers))
    home.start()


def request(cases, seed=3, **members):
    return {"type": "FuzzOp", "op_name": "steps", "config": {"iterations": cases, "seed": seed}, "guided": True, "stream": True,
            **members}


def start(home, *members, **more):
    started = home.ask(request(*members, **more))
    assert started["type"] == "JobStarted", started
    return started["job_id"]


def ended(home, job):
    while (status := home.ask("JobStatus", job_id=job, wait_ms=2000))["state"] == "running":
        pass
    return status


def fuzz(home, *members, **more):
    status = ended(home, start(home, *members, **more))
    assert status["state"] == "done" and status["result"]["type"] == "FuzzResults", status
    return status["result"]


def essence(results):
    """All that must not depend on lanes and time. A run that was stopped looks for no causes."""
    for one in results["failures"]:
        for name in ("timestamp", "duration_ms"):
            one.pop(name)
        for finding in one["failures"]:
            finding.pop("diagnosis", None)
    return {name: value for name, value in results.items() if name not in ("error", "incomplete", "cases_complete")}


def test_lanes_change_nothing(home):
    found = []
    for workers in (1, 2, 3):
        begin(home, workers)
        first = essence(fuzz(home, 400))
        again = essence(fuzz(home, 100, seed=4))
        early = essence(fuzz(home, 400, fail_fast=True))
        found.append((first, again, early))
    first, again, early = found[0]
    assert first["total"] == 400 and 5 < first["failed"] < 200 and first["search"]["epochs"] == len(SIZES)
    numbers = [one["repro_info"]["iteration"] % 2**40 for one in first["failures"]]
    assert numbers == sorted(numbers)
    assert again["search"]["start_digest"] == first["search"]["corpus_digest"] != first["search"]["start_digest"]
    assert again["search"]["replayed"] == first["search"]["corpus"] >= 5
    assert early["failed"] == 1 and early["total"] < 400
    assert found[1] == found[0] and found[2] == found[0]


def test_a_stopped_run_is_the_beginning_of_the_whole_one(home):
    begin(home, 3)
    job = start(home, 20000)
    while home.ask("JobStatus", job_id=job)["done"] < 150:
        time.sleep(0.02)
    assert home.ask("JobCancel", job_id=job)["type"] == "Ok"
    stopped = ended(home, job)["result"]
    complete = stopped["cases_complete"]
    assert 150 <= stopped["total"] == complete < 20000 and stopped["incomplete"]
    begin(home, 1)
    whole = fuzz(home, complete)
    assert "cases_complete" not in whole
    assert essence(whole) == essence(stopped)


def test_two_runs_at_once_begin_alike_and_are_joined_whichever_ends_first(home):
    found = []
    for workers, waits in ((1, False), (3, True)):
        begin(home, workers)
        fuzz(home, 40, seed=9)
        jobs = [start(home, 300, seed=1), start(home, 300, seed=2)]
        results = [ended(home, job)["result"]["search"] for job in (reversed(jobs) if waits else jobs)]
        results = results[::-1] if waits else results
        assert results[0]["start_digest"] == results[1]["start_digest"] and results[0]["corpus_digest"] != results[1]["corpus_digest"]
        joined = fuzz(home, 1, seed=3)["search"]
        assert joined["start_digest"] not in [one["corpus_digest"] for one in results]
        assert joined["replayed"] >= max(one["corpus"] for one in results)
        found.append((results, joined))
    assert found[0] == found[1]


class Merged:
    """What somebody who gives ranges to several daemons keeps: the entries, and what is known of each dtype."""

    def __init__(self):
        self.known, self.news, self.blocks, self.edges, self.all = {}, [], set(), set(), (set(), set())

    def add(self, features):
        for one in features["cases"]:
            known = self.known.setdefault(one["repro_info"]["dtype"], set())
            if known.issuperset(one["features"]):
                continue
            known.update(one["features"])
            self.news.append(one)
            self.blocks.update(one["blocks"])
            self.edges.update(one["edges"])
        self.all[0].update(features["blocks"])
        self.all[1].update(features["edges"])

    def corpus(self, before):
        return [one for one in self.news if one["number"] < before and one.get("passed", True)]


def test_merged_ranges_are_the_whole_run(home):
    gpuemu = pytest.importorskip("gpuemu")
    begin(home, 2)
    with gpuemu.Client(str(home.socket), timeout_ms=120000) as client:
        def cases(first, last, corpus):
            return client.fuzz_op("steps", seed=3, iterations=last - first, guided=True, first_case=first, corpus=corpus)
        whole = cases(0, EPOCHS[-1][1], [])
        merged, failures, total = Merged(), [], 0
        for epoch, (first, last) in enumerate(EPOCHS):
            corpus = merged.corpus(EPOCHS[epoch - 1][0]) if epoch >= 2 else []
            middle = (first + last) // 2 + 3
            parts = [cases(middle, last, corpus), cases(first, middle, corpus)]  # In any order.
            for part in reversed(parts):
                merged.add(part.search["features"])
                failures += part.failures
                total += part.total
        everything = whole.search["features"]["cases"]
        assert [one["number"] for one in merged.news] == [one["number"] for one in everything]
        assert merged.news == everything and len(everything) > 10
        assert [one.seed for one in failures] == [one.seed for one in whole.failures] and total == whole.total == 448
        assert (len(merged.blocks), len(merged.edges)) == (whole.search["blocks"], whole.search["edges"])
        assert [len(ids) for ids in merged.all] == [whole.search["blocks_total"], whole.search["edges_total"]]
        # Nothing of it is the stored corpus.
        assert client.fuzz_op("steps", seed=3, iterations=1, guided=True).search["replayed"] == 0
        # Entries whose features nobody has told run first.
        bare = [{"repro_info": one["repro_info"]} for one in merged.corpus(10**9)]
        replayed = client.fuzz_op("steps", seed=3, iterations=2, guided=True, corpus=bare)
        assert replayed.search["replayed"] == len(bare) == replayed.total - 2
        assert 0 < replayed.search["edges"] <= whole.search["edges"]
        other = client.fuzz_op("steps", seed=3, iterations=2, guided=True, corpus=merged.corpus(10**9))
        assert other.total == 2 and other.search["start_digest"] == replayed.search["start_digest"]


def test_unguided_ranges_add_up(home):
    gpuemu = pytest.importorskip("gpuemu")
    begin(home, 2)
    with gpuemu.Client(str(home.socket), timeout_ms=120000) as client:
        whole, *parts = (client.fuzz_op("steps", seed=8, iterations=count, first_case=first, strategies=["default"])
                         for first, count in ((0, 90), (0, 31), (31, 40), (71, 19)))
        assert whole.total == sum(one.total for one in parts) == 90 and whole.failed > 0 and whole.search is None
        assert [one.seed for one in whole.failures] == [one.seed for part in parts for one in part.failures]


def test_a_range_or_corpus_that_means_nothing_is_refused(home):
    begin(home, 1)
    shapes = {"batch_sizes": [1], "seq_lengths": [2], "hidden_dims": [4], "edge_cases": [[1]]}
    legacy = {"seed": 1, "shape_options": shapes, "dtypes": ["float32"], "layouts": ["Contiguous"]}
    case = {"repro_info": fuzz(home, 30)["failures"][0]["repro_info"], "features": [70000]}
    generator = {"config": None, "fuzz_config": legacy, "iterations": 10, "fail_fast": False, "guided": False}
    for wrong, text in (({**generator, "first_case": 3}, "first_case is 3, but only"),
                        ({"guided": False, "corpus": [case]}, "corpus has 1 entries, but only a guided run"),
                        ({"corpus": [case]}, "corpus entry 0 .* does not fit op 'steps'")):
        refused = ended(home, start(home, 10, **wrong))["result"]
        assert refused["type"] == "Error" and refused["code"] == "InvalidRequest", refused
        assert re.search(text, refused["message"]), refused
