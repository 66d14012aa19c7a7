"""--cluster before a cluster is there: what is refused, and in which words. tests/frameworks has what runs on Ray."""
import json
import os
import pathlib
import sys

import pytest
from projects import SCALE_PTX, TWO, kernel_op

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = {"gpuemu.toml": kernel_op("twice", "twice.ptx"), "twice.ptx": SCALE_PTX.replace("FACTOR", TWO),
         "ref_twice.py": "def reference(x):\n    return 2 * x\n"}


@pytest.fixture(scope="module")
def home(new_home):
    return new_home(FILES)


def run(home, *words, tmp_path=None):
    """With this Python; `tmp_path` has a package ray that cannot be imported."""
    paths = [str(tmp_path)] if tmp_path else []
    if tmp_path:
        (tmp_path / "ray.py").write_text("raise ImportError('No module named ray')\n")
    env = {"PYTHONPATH": os.pathsep.join([*paths, str(ROOT / "python")]),
           "PATH": os.pathsep.join([os.path.dirname(sys.executable), home.env["PATH"]])}
    return home.run(*words, env=env)


@pytest.mark.parametrize("command", ["fuzz", "test"])
def test_without_ray_it_says_what_to_install(home, tmp_path, command):
    done = run(home, command, "twice", "--cluster", "auto", tmp_path=tmp_path)
    assert done.returncode == 3 and done.stderr.startswith("gpuemu: --cluster needs the package ray: pip install gpuemu[ray]\n"), done
    assert "[PASS]" not in done.stdout


def test_in_json_that_is_a_document(home, tmp_path):
    done = run(home, "fuzz", "twice", "--cluster", "auto", "--format", "json", tmp_path=tmp_path)
    assert done.returncode == 3
    assert json.loads(done.stdout)["message"] == "--cluster needs the package ray: pip install gpuemu[ray]"


@pytest.mark.parametrize("address", ["", "automatic", "local:0", "local:65", "local:x", "head", "head:0", "head:65536", "ray://head", "http://head:1"])
def test_what_is_no_address_is_wrong_use(home, address):
    for command in ("fuzz", "test"):
        done = run(home, command, "twice", "--cluster", address)
        assert done.returncode == 2 and "expected" in done.stderr and "--cluster" in done.stderr, done


@pytest.mark.parametrize("resources, told", [("{a100: 1}", "is no JSON"), ("[1]", "expected an object"), ('{"a100": 0}', "a100 is 0"),
                                             ('{"CPU": 1}', "has 'CPU'"), ('{"a100": "1"}', "a100 is '1'")])
def test_what_is_no_resource_is_wrong_use(home, resources, told):
    done = run(home, "fuzz", "twice", "--cluster", "local:1", "--cluster-resources", resources)
    assert done.returncode == 2 and "--cluster-resources" in done.stderr and told in done.stderr, done


@pytest.mark.parametrize("words, told", [
    (("fuzz", "--cluster-resources", "{}"), "--cluster"),
    (("fuzz", "--cluster", "auto", "--stream", "--format", "json"), "--stream does not go with --cluster"),
    (("test", "--cluster", "auto", "--session", "mine"), "--session does not go with --cluster"),
    (("test", "--cluster", "auto", "--fragile"), "--fragile does not go with --cluster"),
])
def test_options_that_do_not_go_together(home, words, told):
    done = run(home, *words)
    assert done.returncode == 2 and told in done.stderr, done


def test_a_python_that_there_is_not_is_named(new_home):
    home = new_home({**FILES, "gpuemu.toml": f'[runtime]\npython = "/no/such/python"\n{FILES["gpuemu.toml"]}'})
    done = run(home, "fuzz", "twice", "--cluster", "local:1")
    assert done.returncode in (2, 3) and "/no/such/python" in done.stderr, done


# --- what a cluster asks a daemon for


def ended(home, **request):
    job = home.ask({**request, "stream": True})["job_id"]
    while (status := home.ask("JobStatus", job_id=job, wait_ms=2000))["state"] == "running":
        pass
    return status["result"]


def test_ranges_are_stored_elsewhere_and_end_as_the_whole_run(home):
    search = pytest.importorskip("gpuemu.cluster.searching").Search()
    home.start()
    fuzz = {"type": "FuzzOp", "op_name": "twice", "guided": True}
    whole = ended(home, **fuzz, config={"iterations": 60, "seed": 3})
    stored = home.ask("GetCorpus", op_name="twice")["entries"]
    assert len(stored) == whole["search"]["corpus"] > 0
    home.ask("DeleteFailures", all=True)
    assert home.ask("StoragePrune", passing=True)["removed"]["passing"] >= 60
    parts = [ended(home, **fuzz, config={"iterations": count, "seed": 3}, first_case=first, corpus=[], results=True)
             for first, count in ((0, 32), (32, 28))]
    home.ask("StoragePrune", passing=True)
    for part in parts:
        assert len(part["results"]) == part["total"] and home.ask("StoreResults", results=part["results"]) == {"type": "Ok"}
    assert len(home.ask("ListResults", limit=100)["results"]) == 60
    for part in parts:
        search.add(part["search"])
    done = ended(home, type="FinishFuzz", op_name="twice", failures=[], proofs=[one for part in parts for one in part["proofs"]],
                 start=[], found=search.entries, keep=True)
    assert done["proofs"] == whole["proofs"] and done["corpus_digest"] == whole["search"]["corpus_digest"]
    assert [one["repro_info"]["seed"] for one in home.ask("GetCorpus", op_name="twice")["entries"]] == [
        one["repro_info"]["seed"] for one in stored]


def test_pieces_of_a_test_end_as_the_whole_run(home):
    home.start()
    test = {"type": "RunTests", "ops": ["twice"], "seed": 3}
    whole = ended(home, **test, cases=50)
    parts = [ended(home, **test, cases=count, first_case=first, results=True) for first, count in ((0, 20), (20, 30))]
    assert [len(part["results"]) for part in parts] == [20, 30]
    done = ended(home, type="FinishTests", seed=3, reports=[one for part in parts for one in part["ops"]])
    for report in (whole, done):
        report.pop("duration_ms")
        for one in report["ops"]:
            one.pop("duration_ms"), one.pop("cases_per_second", None)
    assert done == whole


def test_results_without_an_op_and_ops_that_there_are_not_are_refused(home):
    home.start()
    result = ended(home, type="FuzzOp", op_name="twice", config={"iterations": 1, "seed": 3}, results=True)["results"][0]
    assert "results[0] has no op_name" in home.ask("StoreResults", results=[{**result, "op_name": ""}])["message"]
    assert home.ask("GetCorpus", op_name="no")["code"] == "OpNotFound"
    assert ended(home, type="FinishFuzz", op_name="no", failures=[])["code"] == "OpNotFound"
