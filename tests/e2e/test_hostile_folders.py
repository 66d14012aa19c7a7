"""Attacks on what lies around the daemon: sockets, folders, databases, the environment, its processes."""
import fcntl
import os
import pathlib
import socket
import stat
import subprocess
import time

import pytest

from conftest import BIN
from projects import SCALE_PTX, TWO, kernel_op

CONFIG = {"seed": 1, "shape_options": {"batch_sizes": [1], "seq_lengths": [1], "hidden_dims": [4],
                                       "edge_cases": []},
          "dtypes": ["float32"], "layouts": ["Contiguous"]}


def serve(own, **environment):
    """The daemon in the foreground: exit code and what it says when it does not come up."""
    env = {**own.env, **environment}
    return subprocess.run([str(BIN / "gpuemu-daemon")], cwd=own.project, text=True, timeout=60,
                          env={name: value for name, value in env.items() if value is not None},
                          stdin=subprocess.DEVNULL, capture_output=True)


def test_a_second_daemon_on_the_same_folder_is_told_who_is_there(own):
    home = own
    home.pid = home.start()
    result = serve(home)
    assert result.returncode == 3
    assert str(home.pid) in result.stderr and "gpuemu daemon stop" in result.stderr
    other = serve(home, GPUEMU_SOCKET=str(home.home / "other.sock"))
    assert other.returncode == 3 and str(home.pid) in other.stderr and "GPUEMU_DB" in other.stderr
    assert str(home.socket) in other.stderr
    other = serve(home, GPUEMU_DB=str(home.home / "other-db"))
    assert other.returncode == 3 and str(home.pid) in other.stderr and str(home.socket) in other.stderr


@pytest.fixture
def own(new_home):
    """An installation whose daemon has not been started."""
    return new_home({"gpuemu.toml": kernel_op("twice", "twice.ptx"),
                     "twice.ptx": SCALE_PTX.replace("FACTOR", TWO),
                     "ref_twice.py": "def reference(x):\n    return 2.0 * x\n"})


def test_eight_starts_at_once_give_one_daemon(own):
    starts = [subprocess.Popen([str(BIN / "gpuemu"), "daemon", "start", "--background"], cwd=own.project,
                               env=own.env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE) for _ in range(8)]
    said = [start.communicate(timeout=60) for start in starts]
    deadline = time.monotonic() + 10
    while True:  # Those that came too late take a moment to end.
        serving = [pid for pid in own.processes() if name_of(pid).startswith("gpuemu-daemon")]
        if len(serving) == 1 or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert len(serving) == 1 and own.ask("DaemonStatus")["pid"] == serving[0]
    assert [start.returncode for start in starts] == [0] * 8, said


def test_a_stale_socket_is_replaced(own):
    own.socket.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(own.socket))
    own.start()
    assert own.ask("Ping")["type"] == "Pong"


def test_a_file_at_the_sockets_place_is_left_alone(own):
    own.socket.parent.mkdir()
    own.socket.write_text("precious")
    for result in (serve(own), own.run("test")):
        assert result.returncode == 3, result.stderr
        assert str(own.socket) in result.stderr and "not a socket" in result.stderr
    assert own.socket.read_text() == "precious"


def test_a_database_folder_that_is_a_file_is_named(own):
    (own.home / "db").write_text("precious")
    for result in (serve(own), own.run("test")):
        assert result.returncode == 3, result.stderr
        assert str(own.home / "db") in result.stderr
    assert (own.home / "db").read_text() == "precious"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_database_folder_without_permission_is_named(own):
    (own.home / "db").mkdir(mode=0o500)
    result = serve(own)
    assert result.returncode == 3 and str(own.home / "db") in result.stderr


def test_a_database_that_cannot_be_made_is_named(own):
    result = serve(own, GPUEMU_DB="/proc/no/such/folder")
    assert result.returncode == 3 and "/proc/no/such" in result.stderr


def filled(own):
    assert own.run("test", "--cases", "3").returncode == 0
    own.stop()
    return own.home / "db"


@pytest.mark.parametrize("damage", ["truncate MANIFEST", "garbage in MANIFEST", "empty CURRENT"])
def test_a_damaged_database_is_named_with_the_remedy(own, damage):
    folder = filled(own)
    target = folder / "CURRENT" if "CURRENT" in damage else sorted(folder.glob("MANIFEST-*"))[-1]
    content = target.read_bytes()
    target.write_bytes(b"" if "empty" in damage else content[:len(content) // 2] if "truncate" in damage
                       else os.urandom(len(content)))
    result = serve_or_stop(own)
    if "truncate" in damage and result.returncode == 0:
        return  # A cut at the border of two records is what a crash leaves: RocksDB goes on from there.
    assert result.returncode == 3, result.stderr
    assert str(folder) in result.stderr and "gpuemu storage repair keeps the rest" in result.stderr, result.stderr


def serve_or_stop(own):
    """As serve(); a daemon that comes up all the same is stopped after a Ping and counts as 0."""
    process = subprocess.Popen([str(BIN / "gpuemu-daemon")], cwd=own.project, text=True, env=own.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        try:
            own.ask("Shutdown", timeout=2)
            break
        except OSError:
            time.sleep(0.05)
    out, err = process.communicate(timeout=30)
    return subprocess.CompletedProcess([], process.returncode, out, err)


def test_a_database_with_flipped_bytes_never_gives_wrong_results(own):
    """Either the record is refused, or what is read is what was written."""
    assert own.run("test", "--cases", "40", "--seed", "1").returncode == 0
    good = {one["seed"]: one for one in own.ask("ListResults", limit=100)["results"]}
    own.stop()
    own.start()  # The log becomes table files.
    own.stop()
    tables = sorted((own.home / "db").glob("*.sst"))
    assert tables and len(good) == 40
    table = max(tables, key=lambda path: path.stat().st_size)
    content = bytearray(table.read_bytes())
    for at in range(100, len(content) - 100, 97):
        content[at] ^= 0x55
    table.write_bytes(bytes(content))
    result = own.run("daemon", "start", "--background")
    if result.returncode != 0:
        assert result.returncode == 3 and str(own.home / "db") in result.stderr
        return
    reply = own.ask("ListResults", limit=100)
    if reply["type"] == "Error":
        assert str(own.home / "db") in reply["message"] and "damaged" in reply["message"]
        assert own.ask("Ping")["type"] == "Pong"
    else:
        assert all(good[one["seed"]] == one for one in reply["results"])


def test_without_home_the_variables_are_asked_for(own):
    result = serve(own, HOME=None, GPUEMU_SOCKET=None, GPUEMU_DB=None)
    assert result.returncode in (2, 3)
    assert "HOME" in result.stderr and "GPUEMU_SOCKET" in result.stderr
    env = {name: value for name, value in own.env.items() if name not in ("HOME", "GPUEMU_SOCKET", "GPUEMU_DB")}
    cli = subprocess.run([str(BIN / "gpuemu"), "test"], cwd=own.project, env=env, text=True,
                         stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert cli.returncode in (2, 3) and "HOME" in cli.stderr and "GPUEMU_SOCKET" in cli.stderr


def test_without_home_both_variables_are_enough(own):
    result = subprocess.run([str(BIN / "gpuemu"), "test", "--cases", "2"], cwd=own.project, text=True,
                            env={name: value for name, value in own.env.items() if name != "HOME"},
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_socket_path_over_107_bytes_says_so(own):
    long = str(own.home / ("s" * 120) / "gpuemu.sock")
    for result in (serve(own, GPUEMU_SOCKET=long), own.run("test", env={"GPUEMU_SOCKET": long}),
                   own.run("daemon", "start", "--background", env={"GPUEMU_SOCKET": long})):
        assert result.returncode in (2, 3), result.stderr
        assert "107" in result.stderr and "GPUEMU_SOCKET" in result.stderr, result.stderr


def test_log_and_database_are_private(own):
    own.start()
    for path in own.socket.parent.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0 or \
            stat.S_IMODE(path.parent.stat().st_mode) == 0o700, path


# --- nothing stays behind ---------------------------------------------------------------------------

def test_stop_in_the_middle_of_a_run_leaves_nothing(own):
    own.start()
    with own.client() as client:
        client.ask("FuzzOp", op_name="twice", fuzz_config=CONFIG, iterations=10**6, fail_fast=False, stream=True)
        while not any("python" in name_of(pid) for pid in own.processes()):
            time.sleep(0.01)
    started = time.monotonic()
    assert own.run("daemon", "stop").returncode == 0
    assert not own.leaked() and time.monotonic() - started < 15
    assert not own.socket.exists()


def test_kill_9_of_the_daemon_takes_workers_and_references_along(own):
    pid = own.start()
    with own.client() as client:
        client.ask("FuzzOp", op_name="twice", fuzz_config=CONFIG, iterations=10**6, fail_fast=False, stream=True)
        while len(own.children(pid)) < 2:
            time.sleep(0.01)
        os.kill(pid, 9)
    assert not own.leaked()
    own.start()
    assert own.ask("Ping")["type"] == "Pong"


def name_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def test_a_folder_whose_name_is_no_utf8_is_refused_before_anything_runs(own):
    folder = os.path.join(os.fsencode(own.home), b"\xff\xfe")
    os.rename(own.project, folder)
    done = subprocess.run([str(BIN / "gpuemu"), "test"], cwd=folder, env=own.env, capture_output=True, timeout=60)
    assert done.returncode == 2 and b"not UTF-8" in done.stderr, done.stdout + done.stderr


def test_a_source_in_a_folder_with_a_quote_is_named_as_what_compilers_cannot_take(own):
    folder = own.home / 'say "no"'
    os.rename(own.project, folder)
    (folder / "gpuemu.toml").write_text(kernel_op("twice", "twice.cu"))
    (folder / "twice.cu").write_text('extern "C" __global__ void scale(const float* x, float* y, int n) {}\n')
    done = subprocess.run([str(BIN / "gpuemu"), "test"], cwd=folder, env=own.env, text=True, capture_output=True, timeout=60)
    assert done.returncode == 3 and "rename the file or its folder" in done.stderr, done.stdout + done.stderr


def modes(folder):
    return {str(path.relative_to(folder)): stat.S_IMODE(path.lstat().st_mode) for path in [folder, *folder.rglob("*")]}


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022])
def test_what_the_daemon_makes_is_for_its_user_alone(own, umask):
    own.env = {name: value for name, value in own.env.items() if name not in ("GPUEMU_SOCKET", "GPUEMU_DB")}
    home = own.home / f"home-{umask:o}"
    home.mkdir(mode=0o755)
    own.env["HOME"] = str(home)
    before = os.umask(umask)
    try:
        assert own.run("test", "--cases", "3").returncode == 0
    finally:
        os.umask(before)
        own.run("daemon", "stop")
    found = modes(home / ".gpuemu")
    assert found["."] == 0o700 and len(found) > 10, found
    assert not {name: oct(mode) for name, mode in found.items() if mode & 0o077}


@pytest.mark.parametrize("name", ["daemon.log", "gpuemu.sock.start", "../db.lock"])
@pytest.mark.parametrize("plant", ["link", "hard link", "pipe"])
def test_what_others_planted_in_a_shared_folder_is_not_followed(own, name, plant):
    folder = own.socket.parent
    folder.mkdir(exist_ok=True)
    folder.chmod(0o1777)
    precious = own.home / "precious"
    precious.write_text("precious")
    place = folder / name
    place.unlink(missing_ok=True)
    if plant == "pipe":
        os.mkfifo(place)
    elif plant == "link":
        place.symlink_to(precious)
    else:
        os.link(precious, place)
    results = [own.run("test", timeout=30)] + ([serve(own)] if "start" not in name else [])
    for result in results:
        assert result.returncode == 3, (result.stdout, result.stderr)
        assert pathlib.Path(name).name in result.stderr and "remove it" in result.stderr, result.stderr
    assert precious.read_text() == "precious"
    place.unlink()
    assert own.run("test", "--cases", "3").returncode == 0
    own.stop()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o733])
def test_a_folder_that_others_may_change_is_refused(own, mode):
    folder = own.socket.parent
    folder.mkdir(exist_ok=True)
    if mode & 0o002 == 0:
        os.chown(folder, -1, other_group())
    folder.chmod(mode)
    for result in (own.run("test", timeout=30), serve(own)):
        assert result.returncode == 3, (result.stdout, result.stderr)
        assert f"chmod go-w {folder}" in result.stderr, result.stderr
    folder.chmod(0o755)
    assert own.run("test", "--cases", "3").returncode == 0
    own.stop()


def other_group():
    """A group of this user that is not its own."""
    groups = [group for group in os.getgroups() if group != os.getgid()]
    if os.geteuid() == 0:
        return 65534
    if not groups:
        pytest.skip("this user has no other group")
    return groups[0]


def test_a_lock_of_another_program_is_named_at_once(own):
    lock = own.home / "db.lock"
    with open(lock, "a", encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        began = time.monotonic()
        for result in (serve(own), own.run("test")):
            assert result.returncode == 3, (result.stdout, result.stderr)
            assert str(lock) in result.stderr and f"process {os.getpid()} (" in result.stderr, result.stderr
        assert time.monotonic() - began < 15
    assert own.run("test", "--cases", "3").returncode == 0


def test_a_lock_on_the_sockets_folder_is_named(own):
    own.socket.parent.mkdir(exist_ok=True)
    held = os.open(own.socket.parent, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = serve(own)
        assert result.returncode == 3, (result.stdout, result.stderr)
        assert str(own.socket.parent) in result.stderr and f"process {os.getpid()} (" in result.stderr, result.stderr
    finally:
        os.close(held)
