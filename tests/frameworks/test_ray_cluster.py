"""`--cluster` on Ray nodes of this machine: any number of them, with one lost or not, finds, stores and tells what this machine alone does."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import pytest

pytest.importorskip("ray")
ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin"))
PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
{
	.reg .pred %p<4>;
	.reg .f32 %f<3>;
	.reg .b32 %r<8>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.s32 %p1, %r5, %r1;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd3, %rd1;
	cvta.to.global.u64 %rd4, %rd2;
	mul.wide.s32 %rd5, %r5, 4;
	add.s64 %rd6, %rd3, %rd5;
	add.s64 %rd7, %rd4, %rd5;
	ld.global.f32 %f1, [%rd6];
	mul.f32 %f2, %f1, 0f40000000;
	rem.u32 %r6, %r1, 13;
	setp.eq.u32 %p2, %r6, 5;
	@!%p2 bra STORE;
	mul.f32 %f2, %f2, 0f3F800347;
STORE:
	rem.u32 %r7, %r1, 7;
	setp.eq.u32 %p3, %r7, 3;
	@%p3 bra WRONG;
	st.global.f32 [%rd7], %f2;
	bra DONE;
WRONG:
	setp.eq.s32 %p3, %r5, 0;
	@%p3 bra DONE;
	st.global.f32 [%rd7], %f2;
DONE:
	ret;
}
"""
CONFIG = """
[validation]
seed = 5
cases = 100
[runtime]
python = "{python}"
workers = 2
[[ops]]
name = "scale"
kernel = "scale"
reference = "refs/twice.py"
inputs = [{{ name = "x", shape = ["n"], dtype = "float32" }}]
outputs = [{{ name = "y", shape = ["n"], dtype = "float32" }}]
dims = {{ n = [1, 300] }}
[[kernels]]
name = "scale"
source = "kernels/scale.ptx"
launches = [{{ entry = "scale", grid = ["cdiv(n, 128)"], block = ["128"], args = ["x", "y", "i32:n"] }}]
"""


class Home:
    """A project with a daemon and a database of its own."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-ray-"))
        self.project = self.folder / "project"
        for name, text in (("gpuemu.toml", CONFIG.format(python=sys.executable)), ("kernels/scale.ptx", PTX),
                           ("refs/twice.py", "import helper\n\ndef reference(x):\n    return helper.FACTOR * x\n"), ("refs/helper.py", "FACTOR = 2\n")):
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            (self.project / name).write_text(text)
        self.env = {**os.environ, "HOME": str(self.folder), "GPUEMU_SOCKET": str(self.folder / "s.sock"), "GPUEMU_DB": str(self.folder / "db"),
                    "PATH": f"{BIN}:{os.environ['PATH']}", "GPUEMU_CLI": str(BIN / "gpuemu")}
        self.env.pop("RAY_ADDRESS", None)

    def begin(self, *words, **more):
        return subprocess.Popen([BIN / "gpuemu", *words], cwd=self.project, env=self.env, text=True, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def run(self, *words):
        running = self.begin(*words)
        out, err = running.communicate(timeout=300)
        return subprocess.CompletedProcess(words, running.returncode, out, err)

    def json(self, *words, code=1):
        done = self.run(*words, "--format", "json")
        assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-3000:])
        return json.loads(done.stdout)

    def stored(self):
        """What the project has, without times."""
        listed = self.json("failures", "--limit", "10000", code=0)["results"]
        status = self.json("storage", "status", code=0)["projects"][0]
        return sorted(one["seed"] for one in listed), status["passing"], status["failures"], status["corpus"]

    def private_daemons(self):
        """Those of the nodes."""
        found = []
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (proc / "cmdline").read_bytes().split(b"\0")
                if b"--private" in words and f"HOME={self.folder}".encode() in (proc / "environ").read_bytes().split(b"\0"):
                    found.append(int(proc.name))
            except OSError:
                continue
        return found

    def close(self):
        self.run("daemon", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def new_home():
    made = []
    def make():
        made.append(Home())
        return made[-1]
    yield make
    for one in made:
        one.close()
        assert one.private_daemons() == [], "daemons of nodes outlive their run"


def essence(results):
    """All that must not depend on nodes and time."""
    if isinstance(results, list):
        return [essence(one) for one in results]
    if isinstance(results, dict):
        left_out = {"timestamp", "duration_ms", "cases_per_second", "nodes", "chunks_redone", "started_at"}
        return {name: essence(one) for name, one in results.items() if name not in left_out}
    return results


@pytest.mark.parametrize("options", [(), ("--unguided",), ("--fail-fast",)], ids=["guided", "unguided", "fail-fast"])
def test_two_nodes_find_and_store_what_this_machine_does(new_home, options):
    alone, spread = new_home(), new_home()
    for seed in ("7", "8"):  # The second begins with the corpus of the first.
        words = ("fuzz", "scale", "-i", "400", "--seed", seed, *options)
        here, there = alone.json(*words), spread.json(*words, "--cluster", "local:2")
        if options == ("--fail-fast",):  # Where one lane is ahead of another, more than the first failure is counted here.
            there["total"] = here["total"] = 0
            for one in (here, there):
                one.pop("proofs", None), one.pop("passed")
        expected = json.loads(json.dumps(essence(here)).replace(str(alone.project), str(spread.project)))
        assert essence(there) == expected
        actors = [one["actors"] for one in there["nodes"]]
        # A failure may end the run before the second node has started.
        assert actors == [1, 1] or (actors == [1] and options == ("--fail-fast",))
        assert there["chunks_redone"] == 0
        assert options or sum(one["cases"] for one in there["nodes"]) == there["total"]
    if options != ("--fail-fast",):
        assert spread.stored() == alone.stored()


def test_the_tests_of_two_nodes_say_what_those_of_this_machine_do(new_home):
    alone, spread = new_home(), new_home()
    here, there = alone.json("test", "--seed", "3"), spread.json("test", "--seed", "3", "--cluster", "local:2")
    assert essence(there) == json.loads(json.dumps(essence(here)).replace(str(alone.project), str(spread.project)))
    assert spread.stored() == alone.stored() and len(there["nodes"]) == 2


def wait_for(what, seconds=120):
    end = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)
    return found


def test_a_process_that_is_killed_changes_nothing(new_home):
    alone, spread = new_home(), new_home()
    words = ("fuzz", "scale", "-i", "1500", "--seed", "7")
    running = spread.begin(*words, "--cluster", "local:2", "--format", "json")
    os.kill(wait_for(spread.private_daemons)[0], signal.SIGKILL)
    time.sleep(1)
    for pid in spread.private_daemons()[:1]:
        os.kill(pid, signal.SIGKILL)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 1, err
    here = alone.json(*words)
    assert essence(json.loads(out)) == json.loads(json.dumps(essence(here)).replace(str(alone.project), str(spread.project)))
    assert spread.stored() == alone.stored()


KILLED = """
import json, sys, threading, time
import ray
from ray.cluster_utils import Cluster
import gpuemu
project, seed = sys.argv[1], int(sys.argv[2])
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False,
    "_system_config": {"health_check_initial_delay_ms": 500, "health_check_period_ms": 500, "health_check_failure_threshold": 2}})
second = cluster.add_node(num_cpus=1)
gone = []
def progress(status):
    if status.done > 100 and not gone:
        gone.append(True)
        threading.Thread(target=lambda: cluster.remove_node(second, allow_graceful=False)).start()
found = gpuemu.cluster.fuzz(project, "scale", iterations=1500, seed=seed, address=cluster.address, on_progress=progress, chunk=64)
print(json.dumps({"seeds": [one.seed for one in found.failures], "total": found.total, "failed": found.failed, "search": found.search,
                  "nodes": len(found.nodes), "redone": found.chunks_redone, "gone": len(gone)}))
cluster.shutdown()
"""


def test_a_node_that_is_killed_changes_nothing(new_home):
    alone, spread = new_home(), new_home()
    here = alone.json("fuzz", "scale", "-i", "1500", "--seed", "7")
    spread.run("daemon", "start", "--background")
    done = subprocess.run([sys.executable, "-c", KILLED, spread.project, "7"], env={**spread.env, "PYTHONPATH": str(ROOT / "python")},
                          capture_output=True, text=True, timeout=400)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["gone"] == 1 and found["nodes"] == 2
    assert found["seeds"] == [one["seed"] for one in here["failures"]]
    assert (found["total"], found["failed"], found["search"]) == (here["total"], here["failed"], here["search"])
    assert spread.stored() == alone.stored()


def test_a_chunk_that_is_lost_again_and_again_ends_the_run(new_home):
    home = new_home()
    running = home.begin("fuzz", "scale", "-i", "3000", "--seed", "7", "--cluster", "local:2")
    stop = threading.Event()
    def kill():
        while not stop.wait(0.02):
            for pid in home.private_daemons():
                try:
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        _, err = running.communicate(timeout=300)
    finally:
        stop.set()
        killer.join()
    assert running.returncode == 3 and ("was lost on 3 nodes (" in err or "starts no daemon" in err), err


def test_ctrl_c_ends_the_actors_and_keeps_what_is_complete(new_home):
    home = new_home()
    running = home.begin("fuzz", "scale", "-i", "100000", "--seed", "7", "--cluster", "local:2", "--format", "json", start_new_session=True)
    wait_for(lambda: len(home.private_daemons()) == 2)
    def kept():
        status = home.json("storage", "status", code=0)["projects"]
        return status and status[0]["passing"] > 100
    wait_for(kept)
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=120)
    assert running.returncode == 130, err
    results = json.loads(out)
    assert results["cases_complete"] == results["total"] - results["search"]["replayed"] > 100
    _, passing, failures, _ = home.stored()
    assert passing + failures == results["total"]
    wait_for(lambda: not home.private_daemons(), 20)


def test_no_cluster_is_told_in_time(new_home):
    home, start = new_home(), time.monotonic()
    done = home.run("fuzz", "scale", "--cluster", "127.0.0.1:1")
    assert done.returncode == 3 and "no Ray cluster at 127.0.0.1:1; ray start --head starts one" in done.stderr, done
    assert time.monotonic() - start < 120


def test_what_listens_there_and_is_no_ray_is_no_cluster(new_home):
    import socket
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        done = new_home().run("fuzz", "scale", "--cluster", place)
    assert done.returncode == 3 and f"no Ray cluster at {place};" in done.stderr, done
