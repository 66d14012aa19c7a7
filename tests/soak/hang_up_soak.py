#!/usr/bin/env python3
"""Connects to a daemon and hangs up, thousands of times, while real clients work.

Every round is one peer that leaves in one of these ways: at once, after half a handshake, after the
handshake, after half a message, after a whole request whose answer it does not read, or it stays and
sends a byte now and then. Afterwards the daemon must have as many descriptors as before, use less than
1 % of a core, and every request of the real clients must have been answered, none later than a second.
"""
import argparse
import os
import pathlib
import random
import shutil
import socket
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
sys.path.insert(0, str(ROOT / "tests/soak"))

from kill_soak import Broken, Daemon, expect, idle_share, make_project  # noqa: E402
from wire_client import REQ, frame, handshake  # noqa: E402

PING = frame(b'{"type":"Ping"}')
WAYS = {"at once": b"", "half a handshake": handshake(REQ)[:5], "handshake": handshake(REQ),
        "half a message": handshake(REQ) + PING[:20], "whole request": handshake(REQ) + PING,
        "no such protocol": b"GET / HTTP/1.1\r\n\r\n", "length of 2^63": handshake(REQ) + b"\1\x80" + b"\0" * 7}


def descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


class RealClient(threading.Thread):
    """Dials, asks and hangs up as the command line does, again and again."""

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.gpuemu, self.ends, self.seconds, self.problem = daemon, False, [], None

    def run(self):
        try:
            while not self.ends:
                began = time.monotonic()
                with self.gpuemu.client(10) as client:
                    expect(client.ask("Ping")["type"] == "Pong", "no Pong")
                self.seconds.append(time.monotonic() - began)
                time.sleep(0.005)
        except (OSError, Broken, AssertionError) as failure:
            self.problem = f"after {len(self.seconds)} requests: {failure!r}"


def peer(path):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    one.settimeout(10)
    one.connect(str(path))
    return one


class SlowPeers:
    """Peers that send a byte now and then, the last fifty of them."""
    BYTES = handshake(REQ) + PING

    def __init__(self):
        self.peers = []  # Each with the number of bytes it has sent.

    def tick(self):
        going, self.peers = self.peers, []
        for number, (one, sent) in enumerate(going):
            try:
                if len(going) - number > 50 or sent == len(self.BYTES):
                    raise OSError("enough")
                one.send(self.BYTES[sent:sent + 1])
                self.peers.append((one, sent + 1))
            except OSError:  # The daemon may have hung up on it.
                one.close()


def hang_up(daemon, rounds, draw):
    """Rounds by way."""
    counts, slow = dict.fromkeys([*WAYS, "a byte now and then"], 0), SlowPeers()
    for _ in range(rounds):
        way = draw.choice(list(counts))
        counts[way] += 1
        one = peer(daemon.socket)
        if way in WAYS:
            with one:
                try:
                    one.sendall(WAYS[way])
                except OSError:  # The daemon hung up first, as it may on nonsense.
                    continue
        else:
            slow.peers.append((one, 0))
        slow.tick()
    for one, _ in slow.peers:
        one.close()
    return counts


def play(daemon, options, draw):
    daemon.start()
    pid = daemon.process.pid
    with daemon.client() as client:
        client.ask("Ping")
        time.sleep(1)
        before = descriptors(pid)
    clients = [RealClient(daemon) for _ in range(2)]
    for client in clients:
        client.start()
    counts = hang_up(daemon, options.rounds, draw)
    for client in clients:
        client.ends = True
        client.join(20)
        expect(client.problem is None and not client.is_alive(), f"a real client: {client.problem}")
    seconds = sorted(value for client in clients for value in client.seconds)
    time.sleep(7)  # Longer than the patience with half a handshake.
    after, busy = descriptors(pid), idle_share(pid, 5)
    print(f"{options.rounds} peers hung up: " + ", ".join(f"{way} {count}" for way, count in counts.items()))
    print(f"{len(seconds)} requests of real clients meanwhile: median {statistics.median(seconds) * 1e3:.1f} ms, "
          f"longest {seconds[-1] * 1e3:.0f} ms")
    print(f"descriptors {before} before, {after} after; idle CPU {busy:.2%}")
    expect(after <= before, f"{after - before} descriptors were gained")
    expect(busy < 0.01, f"the idle daemon uses {busy:.1%} of a core")
    expect(seconds and seconds[-1] < 1, "a real client waited for more than a second")
    daemon.stop()
    expect(daemon.process.returncode == 0, f"the daemon ended with {daemon.process.returncode}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path,
                        default=pathlib.Path(os.environ.get("GPUEMU_BIN", ROOT / "build/release/bin")))
    options = parser.parse_args()
    if not (options.bin / "gpuemu-daemon").exists():
        print(f"hang_up_soak: no gpuemu-daemon in {options.bin}; build it or set GPUEMU_BIN", file=sys.stderr)
        return 2
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-soak-"))
    make_project(folder, 1)
    daemon = Daemon(folder, options.bin.resolve())
    try:
        play(daemon, options, random.Random(options.seed))
    except (Broken, OSError) as failure:
        print(f"hang_up_soak: FAILED (--seed {options.seed}): {failure!r}; everything is kept in {folder}")
        return 1
    finally:
        daemon.stop()
    shutil.rmtree(folder, ignore_errors=True)
    print("hang_up_soak: OK")
    return 0


if __name__ == "__main__":
    sys.exit(main())
