#!/usr/bin/env python3
"""How evenly sessions share a daemon, and how a crowd affects waiting clients.

  sharing_bench.py --bin FOLDER [--seconds N] [--clients N] [--requests N]

Jain's index of two sessions that fuzz at once, with equal weights and with 2:1 (1 is perfectly even);
small requests per second of many clients, compared with one client that sends all; round trips of Ping
and of ValidateOp while four clients fuzz, compared with an idle daemon. Everything runs in a private
folder that is removed at the end.
"""
import argparse
import multiprocessing
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

from tool import ROOT, Gpuemu, correct_examples

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from wire_client import WireClient, tensor  # noqa: E402

DIMS = {"gelu": {"n": (1, 16384)}}
CLIENT_OP = '\n[[ops]]\nname = "double"\nreference = "double.py"\ninput_names = ["x"]\n'
FUZZERS = 4


class Daemon:
    def __init__(self, programs, home):
        self.tool = Gpuemu(programs, home)
        correct_examples(self.tool.folder, DIMS)
        config = self.tool.folder / "gpuemu.toml"
        config.write_text(config.read_text() + CLIENT_OP)
        (self.tool.folder / "double.py").write_text("def reference(x):\n    return 2.0 * x\n")
        started = self.tool.run("daemon", "start", "--background")
        if started.returncode != 0:
            sys.exit(f"sharing_bench: {started.stderr}")
        self.tool.run("test", "gelu", "--cases", "40")  # Starts workers and interpreters, and compiles.

    def client(self):
        return WireClient(self.tool.environment["GPUEMU_SOCKET"], 300)


def fuzz(client, name, **wishes):
    session = client.ask("OpenSession", name=name, **wishes)["session"]
    started = client.ask("FuzzOp", session=session, op_name="gelu", fail_fast=False, stream=True, guided=False,
                         config={"iterations": 1_000_000, "seed": len(name)})
    if started["type"] != "JobStarted":
        sys.exit(f"sharing_bench: {started}")
    return session


def jain(daemon, weights, seconds):
    with daemon.client() as client:
        names = [f"w{i}" for i in range(len(weights))]
        sessions = [fuzz(client, name, weight=weight) for name, weight in zip(names, weights)]

        def used():
            listed = {one["name"]: one["device_ms"] for one in client.ask("ListSessions")["sessions"]}
            return [listed[name] for name in names]

        while min(used()) == 0:
            time.sleep(0.05)
        before = used()
        time.sleep(seconds)
        shares = [(now - then) / weight for now, then, weight in zip(used(), before, weights)]
        for session in sessions:
            client.ask("CloseSession", session=session)
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def validation():
    return {"type": "ValidateOp", "op_name": "double", "inputs": {"x": tensor([1.0])}, "output": tensor([2.0])}


def validate(socket, count, ready, go):
    with WireClient(socket, 300) as client:
        ready.put(1)
        go.wait()
        for _ in range(count):
            reply = client.ask(validation())
            if reply["type"] != "ValidationResult":
                sys.exit(f"sharing_bench: {reply}")


def per_second(daemon, processes, requests):
    """Sends `requests` in total, from this many processes."""
    ready, go = multiprocessing.Queue(), multiprocessing.Event()
    arguments = (daemon.tool.environment["GPUEMU_SOCKET"], requests // processes, ready, go)
    clients = [multiprocessing.Process(target=validate, args=arguments) for _ in range(processes)]
    for client in clients:
        client.start()
    for _ in clients:
        ready.get()
    start = time.perf_counter()
    go.set()
    for client in clients:
        client.join()
    if any(client.exitcode != 0 for client in clients):
        sys.exit("sharing_bench: a client failed")
    return requests / (time.perf_counter() - start)


def one_client(daemon, requests, connections):
    """Sends all of them from one process, over as many connections as there are lanes."""
    each = requests // connections

    def send():
        with daemon.client() as client:
            for _ in range(each):
                client.ask(validation())

    threads = [threading.Thread(target=send) for _ in range(connections)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return requests / (time.perf_counter() - start)


def round_trips(client, request, count):
    """Returns the times in milliseconds, sorted."""
    found = []
    for _ in range(count):
        start = time.perf_counter()
        client.ask(request)
        found.append((time.perf_counter() - start) * 1000)
    return sorted(found)


def share(trips, part):
    return trips[min(len(trips) - 1, int(len(trips) * part))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=6400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuemu-bench-") as home:
        daemon = Daemon(options.bin, pathlib.Path(home))
        try:
            for weights in ((1, 1), (2, 1)):
                print(f"Jain's index, weights {weights[0]}:{weights[1]}   {jain(daemon, weights, options.seconds):.4f}", flush=True)
            lanes = 2 * os.cpu_count()
            alone, crowd = [], []
            for _ in range(3):
                alone.append(one_client(daemon, options.requests, lanes))
                crowd.append(per_second(daemon, options.clients, options.requests))
            one, many = statistics.median(alone), statistics.median(crowd)
            print(f"one client           {one:8.0f} requests/s")
            print(f"{options.clients} clients           {many:8.0f} requests/s   {many / one:.2f} times one", flush=True)
            with daemon.client() as client, daemon.client() as crowd_client:
                idle_ping, idle = round_trips(client, "Ping", 2000), round_trips(client, validation(), 200)
                sessions = [fuzz(crowd_client, f"crowd{i}") for i in range(FUZZERS)]
                time.sleep(1)
                ping, busy = round_trips(client, "Ping", 2000), round_trips(client, validation(), 200)
                for session in sessions:
                    crowd_client.ask("CloseSession", session=session)
            print(f"Ping, idle           p50 {share(idle_ping, 0.5):6.2f} ms   p99 {share(idle_ping, 0.99):6.2f} ms")
            print(f"Ping, {FUZZERS} fuzz         p50 {share(ping, 0.5):6.2f} ms   p99 {share(ping, 0.99):6.2f} ms")
            print(f"ValidateOp, idle     p50 {share(idle, 0.5):6.2f} ms   p95 {share(idle, 0.95):6.2f} ms")
            print(f"ValidateOp, {FUZZERS} fuzz   p50 {share(busy, 0.5):6.2f} ms   p95 {share(busy, 0.95):6.2f} ms   "
                  f"goal: below {4 * share(idle, 0.95) + 40:.0f} ms")
        finally:
            daemon.tool.stop()


if __name__ == "__main__":
    main()
