#!/usr/bin/env python3
"""Kills daemon, workers and references with SIGKILL at random points of fuzz runs, again and again.

Every round starts a fuzz job, watches it as a client does, and kills. Whatever the client was told
before (progress of the job, GetResult, ListResults, ListFailures) must be there afterwards, byte for
byte, the next start must be clean, and a job of which only a worker or a reference died must end with
every case accounted for. Nothing may be left behind: no process, no temporary file, no shared memory,
no socket; and now and then a daemon without work must use less than 1 % of a core. Prints a table and
a verdict; exit code 0 only when all of that held.
"""
import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from projects import SCALE_PTX, THREE, TWO, kernel_op  # noqa: E402
from wire_client import WireClient  # noqa: E402

VICTIMS = ("daemon", "worker", "reference")
LIMIT = 10_000  # What one listing may return.
KEPT = {"s/daemon.log", "db.lock", "stderr.txt"}  # Beside the project, the database and the cache.
IDLE_EVERY = 50  # Rounds.


class Broken(Exception):
    """A promise that was not kept."""


def expect(condition, message):
    if not condition:
        raise Broken(message)


def idle_share(pid, seconds):
    """The share of one core that the process uses meanwhile."""
    def ticks():
        fields = pathlib.Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return int(fields[11]) + int(fields[12])
    before = ticks()
    time.sleep(seconds)
    return (ticks() - before) / os.sysconf("SC_CLK_TCK") / seconds


class Daemon:
    """A private daemon, started and killed many times on one database."""

    def __init__(self, folder, binaries):
        self.folder, self.binaries = folder, binaries
        self.socket = folder / "s" / "gpuemu.sock"
        self.marker = f"GPUEMU_DB={folder / 'db'}".encode()
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        # A driver writes its cache of compiled code to HOME and keeps it: that is not left behind by gpuemu.
        self.env = {**os.environ, "CUDA_CACHE_DISABLE": "1", "HOME": str(folder), "GPUEMU_SOCKET": str(self.socket),
                    "GPUEMU_DB": str(folder / "db"), "TMPDIR": str(self.temporary)}
        self.shared_memory = self.segments()
        self.process = None

    def start(self):
        """Seconds until it answers."""
        began = time.monotonic()
        with open(self.folder / "stderr.txt", "wb") as errors:
            self.process = subprocess.Popen([str(self.binaries / "gpuemu-daemon")], env=self.env,
                                            cwd=self.folder / "project", stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=errors)
        while True:
            try:
                with self.client(5) as client:
                    expect(client.ask("Ping")["type"] == "Pong", "no Pong after the start")
                return time.monotonic() - began
            except OSError:
                said = (self.folder / "stderr.txt").read_text()
                expect(self.process.poll() is None, f"the next start failed: {said}")
                expect(time.monotonic() - began < 60, "the next start took more than a minute")
                time.sleep(0.02)

    def client(self, timeout=60):
        return WireClient(self.socket, timeout)

    def processes(self):
        """Process numbers by kind; zombies do not count."""
        found = {kind: [] for kind in VICTIMS}
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if self.marker not in (proc / "environ").read_bytes().split(b"\0"):
                    continue
                if (proc / "stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                    continue
                name = (proc / "comm").read_text().strip()
            except OSError:
                continue
            kind = "daemon" if name.startswith("gpuemu-daemon") else \
                "worker" if name.startswith("gpuemu-worker") else "reference"
            found[kind].append(int(proc.name))
        return found

    def wait_for(self, victim):
        """Process numbers; a worker or reference starts with the first case that needs it."""
        deadline = time.monotonic() + 10
        while not (targets := self.processes()[victim]):
            expect(time.monotonic() < deadline, f"no {victim} to kill")
            time.sleep(0.005)
        return targets

    def kill_children_check(self):
        """After a killed daemon nothing of it may be left."""
        deadline = time.monotonic() + 5
        while any(self.processes().values()):
            expect(time.monotonic() < deadline, f"left behind: {self.processes()}")
            time.sleep(0.02)

    @staticmethod
    def segments():
        return {path.name for path in pathlib.Path("/dev/shm").glob("*gpuemu*") if path.is_file()}

    def check_nothing_is_left(self):
        """After a daemon that was stopped."""
        self.kill_children_check()
        left = [str(path) for path in self.temporary.rglob("*")] + sorted(self.segments() - self.shared_memory)
        for path in self.folder.rglob("*"):
            name = str(path.relative_to(self.folder))
            if path.is_file() and name not in KEPT and name.split("/")[0] not in ("project", "db", "db.cache", "tmp"):
                left.append(name)
        left += [path.name for path in (self.folder / "db").iterdir() if path.suffix in (".new", ".tmp")]
        expect(not left, f"left behind: {left[:5]}")

    def stop(self):
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def identity(result):
    return result["op_name"], result["seed"]


def as_listed(result):
    """What a list and GetResult have in common: a list also names the project, and holds the inputs of as many failures as fit."""
    origin = result.get("repro_info")
    common = {key: value for key, value in result.items() if key != "project"}
    return {**common, "repro_info": origin and {**origin, "input_snapshot": None}}


class Watcher:
    """One client of one round: what it was told, and when the kill is due."""

    def __init__(self, client, op, cases, seed):
        self.client, self.op, self.cases = client, op, cases
        self.job = client.ask("FuzzOp", op_name=op, stream=True,
                              config={"iterations": cases, "seed": seed})["job_id"]
        self.before = self.count()
        self.done = 0
        self.told = {}  # Results that a reply showed, by op and seed.
        self.failed = set()

    def count(self):
        return len(self.client.ask("ListResults", limit=LIMIT, op_name=self.op)["results"])

    def look(self, draw):
        """Asks one of the questions that acknowledge results; the job's state."""
        question = draw.randrange(4)
        if question == 0 and self.told:
            op, seed = draw.choice(sorted(self.told))
            result = self.client.ask("GetResult", seed=seed, op_name=op)["result"]
            expect(as_listed(result) == self.told[op, seed], f"GetResult of {op} {seed} has changed")
        elif question == 1:
            for result in self.client.ask("ListResults", limit=50, op_name=self.op)["results"]:
                self.told[identity(result)] = as_listed(result)
        elif question == 2:
            for result in self.client.ask("ListFailures", limit=20, op_name=self.op)["results"]:
                self.told[identity(result)] = as_listed(result)
                self.failed.add(identity(result))
        status = self.client.ask("JobStatus", job_id=self.job)
        self.done = max(self.done, status["done"])
        return status


def kept(daemon, watcher):
    """Everything that was acknowledged is there; how many results that are."""
    with daemon.client() as client:
        results = {identity(one): as_listed(one)
                   for one in client.ask("ListResults", limit=LIMIT, op_name=watcher.op)["results"]}
        failures = {identity(one)
                    for one in client.ask("ListFailures", limit=LIMIT, op_name=watcher.op)["results"]}
        for key, result in watcher.told.items():
            expect(key in results, f"lost: {key}")
            expect(results[key] == result, f"changed: {key}")
            again = client.ask("GetResult", seed=key[1], op_name=key[0])
            expect(as_listed(again["result"]) == result, f"GetResult differs: {key}")
            if key in failures and result["repro_info"]:
                expect(again["result"]["repro_info"]["input_snapshot"], f"its inputs are lost: {key}")
        lost = watcher.failed - failures
        expect(not lost, f"lost from the failures: {sorted(lost)[:3]}")
    expect(len(results) >= watcher.done,
           f"progress said {watcher.done} cases, {len(results)} results are stored")
    return len(results)


def finish(watcher):
    """A job that lost a worker or a reference ends with all its cases."""
    deadline = time.monotonic() + 600
    while True:
        status = watcher.client.ask("JobStatus", job_id=watcher.job, wait_ms=2000)
        if status["state"] != "running":
            break
        expect(time.monotonic() < deadline, "the job does not end")
    expect(status["state"] == "done", f"the job ended as {status['state']}: {status['result']}")
    expect(status["result"]["total"] == watcher.cases, f"{status['result']['total']} cases were counted")
    watcher.done = status["done"]
    return [one["failures"][0]["kind"] for one in status["result"]["failures"]]


def play_round(daemon, number, options, draw):
    """One run with its kill; a row of the table."""
    victim = VICTIMS[number % len(VICTIMS)]
    # One op per round, so that what is stored of it is of this round alone.
    op, start_seconds = f"op{number}", daemon.start()
    due = draw.randrange(options.cases * 9 // 10)
    with daemon.client() as client:
        watcher = Watcher(client, op, options.cases, draw.randrange(2**64))
        while (status := watcher.look(draw))["done"] < due and status["state"] == "running":
            pass
        time.sleep(draw.random() * 0.01)
        os.kill(draw.choice(daemon.wait_for(victim)), signal.SIGKILL)
        if victim == "daemon":
            daemon.process.wait()
            daemon.kill_children_check()
            start_seconds = max(start_seconds, daemon.start())
            outcome = "restarted"
        else:
            kinds = finish(watcher)
            wrong = "ToleranceExceeded"
            lost = [kind for kind in kinds if kind != wrong]
            allowed = {"WorkerLost"} if victim == "worker" else {"ReferenceError"}
            expect(set(lost) <= allowed and len(lost) <= 1, f"findings of one kill: {lost}")
            outcome = f"{len(lost)} {lost[0]}" if lost else "no case lost"
    stored = kept(daemon, watcher)
    if number % IDLE_EVERY == IDLE_EVERY - 1:
        busy = idle_share(daemon.process.pid, 3)
        expect(busy < 0.01, f"the idle daemon uses {busy:.1%} of a core")
        outcome += f", idle {busy:.2%}"
    daemon.stop()
    expect(daemon.process.returncode == 0, f"the daemon ended with {daemon.process.returncode}")
    daemon.check_nothing_is_left()
    with open(daemon.folder / "s" / "daemon.log", encoding="utf-8") as log:
        bad = [line for line in log if "[error]" in line or "[critical]" in line]
    expect(not bad, f"the log has errors: {bad[:2]}")
    return victim, due, watcher.done, len(watcher.told), stored, f"{start_seconds:.2f}", outcome


def make_project(folder, rounds):
    """Cheap ops, one per round; every third is wrong, so that failures are stored too."""
    project = folder / "project"
    project.mkdir()
    config = '[project]\nname = "soak"\n'
    for number in range(rounds):
        source = "wrong.ptx" if number % 4 == 3 else "right.ptx"
        config += kernel_op(f"op{number}", source)
    (project / "gpuemu.toml").write_text(config)
    (project / "right.ptx").write_text(SCALE_PTX.replace("FACTOR", TWO))
    (project / "wrong.ptx").write_text(SCALE_PTX.replace("FACTOR", THREE))
    (project / "ref_twice.py").write_text("def reference(x):\n    return 2.0 * x\n")


HEADER = ("round", "killed", "at case", "told done", "told results", "stored", "start s", "outcome")
FORMAT = "{:>5}  {:<9}  {:>7}  {:>9}  {:>12}  {:>6}  {:>7}  {}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=20, help="1000 in the long form")
    parser.add_argument("--cases", type=int, default=2000, help="of each round's fuzz run")
    parser.add_argument("--seed", type=int, default=None, help="of the points at which is killed")
    parser.add_argument("--bin", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin")))
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(2**32)
    if not (options.bin / "gpuemu-daemon").exists():
        print(f"kill_soak: no gpuemu-daemon in {options.bin}; build it or set GPUEMU_BIN", file=sys.stderr)
        return 2
    if not 1 <= options.cases <= LIMIT or options.rounds < 1:
        print(f"kill_soak: expected --cases from 1 to {LIMIT} and --rounds from 1", file=sys.stderr)
        return 2
    options.bin = options.bin.resolve()
    draw = random.Random(seed)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-soak-"))
    make_project(folder, options.rounds)
    daemon = Daemon(folder, options.bin)
    print(f"kill_soak: {options.rounds} rounds of {options.cases} cases, --seed {seed}, in {folder}")
    print(FORMAT.format(*HEADER), flush=True)
    broken = None
    try:
        for number in range(options.rounds):
            print(FORMAT.format(number, *play_round(daemon, number, options, draw)), flush=True)
    except (Broken, OSError, ValueError, KeyError) as failure:
        broken = f"round {number}: {type(failure).__name__}: {failure}"
    finally:
        daemon.stop()
    if broken:
        print(f"kill_soak: FAILED (--seed {seed}) in {broken}; everything is kept in {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    print(f"kill_soak: OK, {options.rounds} kills, no acknowledged result lost, every start clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
