"""One daemon and many projects at once: each gets its share, none can hinder another, whatever its folder becomes."""
import concurrent.futures
import json
import os
import shutil
import time

import pytest

from projects import SCALE_PTX, THREE, TWO, kernel_op

REFERENCE = "def reference(x):\n    return 2.0 * x\n"
# Writes down when it begins and ends, and takes a while.
NOTED = """import os, time
def note(text):
    log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, f"{{time.monotonic_ns()}} {{text}}\\n".encode())
    os.close(log)
def reference(x):
    note("+1")
    time.sleep(0.05)
    note("-1")
    return 2.0 * x
"""


def make(home, folder, factor=TWO, reference=REFERENCE, runtime="", op="twice"):
    """Creates a project beside the first one; returns the path of its gpuemu.toml."""
    place = home.project.parent / folder
    place.mkdir(exist_ok=True)
    (place / "gpuemu.toml").write_text(f'[project]\nname = "{folder}"\n{runtime}\n' + kernel_op(op, "scale.ptx"))
    (place / "scale.ptx").write_text(SCALE_PTX.replace("FACTOR", factor))
    (place / "ref_twice.py").write_text(reference)
    return place / "gpuemu.toml"


@pytest.fixture
def home(new_home):
    made = new_home({"gpuemu.toml": kernel_op("twice", "scale.ptx"), "scale.ptx": SCALE_PTX.replace("FACTOR", TWO),
                     "ref_twice.py": REFERENCE})
    made.start()
    return made


def lanes():
    """As many as cases run at one time on the emulator."""
    return 2 * os.cpu_count()


def most_at_once(log):
    running = most = 0
    for line in sorted(log.read_text().splitlines(), key=lambda line: int(line.split()[0])):
        running += int(line.split()[1])
        most = max(most, running)
    return most


def run_tests(home, project, cases, seed=1):
    return home.ask("RunTests", project=str(project), cases=cases, seed=seed, timeout=300)


def test_projects_run_at_once_and_together_no_more_cases_than_one(home):
    log = home.home / "log"
    projects = [make(home, f"p{i}", THREE if i % 2 else TWO, NOTED.format(log=str(log))) for i in range(5)]
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        reports = list(pool.map(lambda project: run_tests(home, project, 12), projects))
    assert [report["failed"] > 0 for report in reports] == [False, True, False, True, False], reports
    for project, report in zip(projects, reports):
        found = home.ask("ListFailures", limit=100, project=str(project))["results"]
        assert len(found) == report["failed"]
    assert 1 < most_at_once(log) <= lanes()


def test_many_jobs_of_one_project_leave_another_its_share(home):
    slow = "import time\ndef reference(x):\n    time.sleep(0.05)\n    return 2.0 * x\n"
    long, short = make(home, "long", reference=slow), make(home, "short", reference=slow)
    run_tests(home, short, 1)
    jobs = [home.ask("RunTests", project=str(long), cases=100_000, seed=seed, stream=True)["job_id"] for seed in range(4)]
    wanted = 10 * lanes()

    def done():
        return sum(home.ask("JobStatus", job_id=job)["done"] for job in jobs)

    while done() == 0:
        time.sleep(0.05)
    before = done()
    assert run_tests(home, short, wanted)["passed"] == wanted
    meanwhile = done() - before
    for job in jobs:
        home.ask("JobCancel", job_id=job)
    # A share of its own, not one beside each of four jobs; a machine with other work keeps it less exactly.
    assert 0 < meanwhile < 3 * wanted


def test_what_is_no_project_is_refused_and_nothing_else_suffers(home):
    outside = home.project.parent
    (outside / "folder.toml").mkdir()
    os.mkfifo(outside / "pipe.toml")
    (outside / "dangling.toml").symlink_to(outside / "nothing")
    (outside / "loop.toml").symlink_to(outside / "loop.toml")
    good = str(make(home, "good"))
    for named in ("gpuemu.toml", "./gpuemu.toml", "../good/gpuemu.toml", "~/gpuemu.toml", str(outside), "/", "//", "/proc/self/mem/x",
                  str(outside / "folder.toml"), str(outside / "pipe.toml"), str(outside / "dangling.toml"), str(outside / "loop.toml"),
                  good + "\0", good + "/", good[:-1], "/" + 100_000 * "a", 100_000 * "ü", "/dev/zero", "0" * 16, "0" * 17, " ", "**"):
        reply = home.ask("ListFailures", limit=1, project=named)
        assert reply.get("code") == "ProjectNotFound", (named[:80], reply)
        assert len(reply["message"]) < 1000 and "gpuemu projects" in reply["message"], reply
    for wrong in (7, ["a"], {}, True):
        assert home.ask("ListFailures", limit=1, project=wrong)["code"] == "InvalidRequest"
    assert home.ask("ListFailures", limit=1, project=None)["type"] == "Results"
    # "//" at the front and ".." inside are still paths of the same file.
    for same in ("/" + good, good.replace("/good/", "/good/../good/")):
        assert home.ask("ListFailures", limit=1, project=same)["type"] == "Results", same
    names = [one["path"] for one in home.ask("Projects")["projects"]]
    assert sorted(names) == sorted([good, str(home.project / "gpuemu.toml")])
    reply = home.ask("RunTests", cases=1, project="*")
    assert reply["code"] == "InvalidRequest" and "RunTests" in reply["message"], reply


@pytest.mark.skipif(os.getuid() != 0, reason="root alone can take on another user")
def test_a_file_that_the_daemon_may_not_read_is_refused(new_home):
    """Root may read everything, so the daemon runs as somebody else."""
    home = new_home({"gpuemu.toml": kernel_op("twice", "scale.ptx"), "scale.ptx": SCALE_PTX, "ref_twice.py": REFERENCE})
    theirs = make(home, "theirs")
    for path in (home.home.parent, home.home, home.project, home.project.parent):
        path.chmod(0o755)
    shutil.chown(home.home, 65534, 65534)
    theirs.parent.chmod(0o700)
    command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv")
    import subprocess
    from conftest import BIN
    started = subprocess.run([*command, BIN / "gpuemu", "daemon", "start", "--background"], cwd=home.project, env=home.env,
                             capture_output=True, text=True, timeout=60)
    if started.returncode != 0 and "Permission denied" in started.stderr:
        pytest.skip(f"another user cannot run the build: {started.stderr}")
    assert started.returncode == 0, started.stderr
    reply = home.ask("ListFailures", limit=1, project=str(theirs))
    assert reply["code"] == "ProjectNotFound" and "Permission denied" in reply["message"], reply


def test_a_project_goes_by_its_file_as_it_is_now(home):
    one, other = make(home, "one"), make(home, "other")
    assert run_tests(home, one, 2)["passed"] == 2
    make(home, "one", op="thrice")
    assert run_tests(home, one, 2)["ops"][0]["op_name"] == "thrice"
    one.write_text("[[ops]\n")
    reply = run_tests(home, one, 2)
    assert reply["code"] == "ConfigError" and f"{one}:1" in reply["message"], reply
    assert run_tests(home, other, 2)["passed"] == 2
    # What is stored can still be read.
    assert home.ask("ListResults", limit=9, project=str(one))["results"]
    make(home, "one", THREE)
    assert run_tests(home, one, 2)["failed"] == 2


def test_a_project_whose_folder_is_gone_keeps_its_records(home):
    gone, other = make(home, "gone", THREE), make(home, "other")
    assert run_tests(home, gone, 2)["failed"] == 2
    own = home.ask("ListFailures", limit=1, project=str(gone))["results"][0]["project"]
    job = home.ask("RunTests", project=str(gone), cases=100_000, stream=True)["job_id"]
    shutil.rmtree(gone.parent)
    assert home.ask("ListFailures", limit=1, project=str(gone))["code"] == "ProjectNotFound"
    assert len(home.ask("ListFailures", limit=2, project=own)["results"]) == 2
    reply = run_tests(home, own, 1)
    assert reply["code"] == "ConfigError" and str(gone) in reply["message"], reply
    assert run_tests(home, other, 2)["passed"] == 2
    home.ask("JobCancel", job_id=job)
    make(home, "gone")
    assert run_tests(home, gone, 2)["passed"] == 2


def test_projects_have_emulated_devices_and_workers_of_their_own(home):
    pid = home.daemon_pid()
    old = make(home, "old", runtime='[runtime]\nworkers = 1\nemulated_devices = ["sm_75", "sm_90"]')
    assert [one["architecture"] for one in home.ask("Devices", project=str(old))["devices"]] == ["sm_75", "sm_90"]
    assert [one["architecture"] for one in home.ask("Devices")["devices"]] == ["sm_80"]
    assert home.ask("DaemonStatus", project=str(old))["workers"] == 1
    assert run_tests(home, old, 3)["passed"] == 3
    home.project = old.parent
    run = home.run("test", "--cases", "2")
    assert run.returncode == 0 and run.stderr == "" and home.daemon_pid() == pid, run.stderr


def test_processes_of_projects_without_work_end(home):
    settings = "[runtime]\nworkers = 1"
    for i in range(12):
        assert run_tests(home, make(home, f"p{i}", runtime=settings), 4)["passed"] == 4
    # A worker and two references each: of the default project, of four that rest, of the newest.
    assert len(home.processes()) <= 1 + 3 * 6, home.processes()
    assert run_tests(home, home.project.parent / "p0" / "gpuemu.toml", 4)["passed"] == 4


@pytest.mark.slow
def test_a_thousand_projects_are_served_by_one_daemon(home):
    pid = home.daemon_pid()

    def files_open():
        return len(os.listdir(f"/proc/{pid}/fd"))

    with home.client() as client:
        for i in range(1000):
            project = make(home, f"p{i}")
            assert client.ask("ListFailures", limit=1, project=str(project))["type"] == "Results"
            if i == 100:
                before = files_open()
        assert files_open() < before + 100
        known = client.ask("Projects")
    assert len(known["projects"]) == 1001 and all(one["open"] for one in known["projects"])
    assert run_tests(home, home.project.parent / "p0" / "gpuemu.toml", 4)["passed"] == 4


def test_records_and_names_outlive_the_daemon(home):
    other = make(home, "other", THREE)
    assert run_tests(home, other, 3)["failed"] == 3
    home.stop()
    home.start()
    known = {one["path"]: one for one in home.ask("Projects")["projects"]}
    assert (known[str(other)]["name"], known[str(other)]["failures"], known[str(other)]["open"]) == ("other", 3, False)
    assert len(home.ask("ListFailures", limit=9, project=known[str(other)]["id"])["results"]) == 3


def test_listings_of_all_projects_say_whose_each_record_is(home):
    other = make(home, "other", THREE)
    assert run_tests(home, home.project / "gpuemu.toml", 2)["passed"] == 2
    home.project = other.parent
    assert home.run("test", "--cases", "2", "--seed", "1").returncode == 1
    assert home.run("baseline", "save", "mine").returncode == 0
    home.project = other.parent.parent / "project"
    for words in (["failures"], ["artifacts"], ["baseline", "list"]):
        assert str(other) not in home.run(*words).stdout
        run = home.run(*words, "--all-projects")
        assert run.returncode == 0 and f" in {other}" in run.stdout, run
    ids = {one["path"]: one["id"] for one in home.ask("Projects")["projects"]}
    found = json.loads(home.run("failures", "--all-projects", "--format", "json").stdout)["results"]
    assert [one["project"] for one in found] == [ids[str(other)]] * 2
    results = home.ask("ListResults", limit=3, project="*")["results"]
    assert {one["project"] for one in results} == set(ids.values())
    assert [one["timestamp"] for one in results] == sorted((one["timestamp"] for one in results), reverse=True)
    status = home.run("status").stdout
    assert f"open:     {other}\n" in status and f"open:     {home.project}/gpuemu.toml\n" in status, status
    home.stop()
    home.start()
    assert str(other) not in home.run("status").stdout
    assert f"closed:   {other}\n" in home.run("status", "--all-projects").stdout
    assert home.run("failures", "--delete", "--all", "--all-projects").returncode == 2


def test_a_moved_default_project_stays_the_default(home):
    assert run_tests(home, "", 2)["passed"] == 2
    moved = home.project.rename(home.project.parent / "moved")
    old, home.project = home.project, moved
    assert home.run("projects", "move", old / "gpuemu.toml", moved).returncode == 0
    assert home.ask("DaemonStatus")["config_path"] == str(moved / "gpuemu.toml")
    assert len(home.ask("ListResults", limit=9)["results"]) == 2
    assert run_tests(home, "", 2)["passed"] == 2


@pytest.mark.slow
def test_a_project_at_work_is_neither_moved_nor_forgotten(home):
    slow = make(home, "slow", reference="import time\ndef reference(x):\n    time.sleep(0.1)\n    return 2.0 * x\n")
    for project in (slow, home.project / "gpuemu.toml"):
        job = home.ask("RunTests", project=str(project), cases=100_000, stream=True)["job_id"]
        while home.ask("JobStatus", job_id=job)["done"] == 0:
            time.sleep(0.05)
        run = home.run("projects", "forget", project, "--yes")
        assert run.returncode == 3 and "running jobs" in run.stderr, run
        assert home.ask("ForgetProject", id=str(project))["code"] == "Busy"
        run = home.run("projects", "move", project, make(home, "new"))
        assert run.returncode == 3 and "running jobs" in run.stderr, run
        home.ask("JobCancel", job_id=job)
        while home.ask("JobStatus", job_id=job)["state"] == "running":
            time.sleep(0.05)
        done = home.ask("JobStatus", job_id=job)["done"]
        assert len(home.ask("ListResults", limit=10_000, project=str(project))["results"]) >= min(done, 10_000)
        assert home.run("projects", "forget", project, "--yes").returncode == 0
        assert home.ask("ListResults", limit=9, project=str(project))["results"] == []


def test_commands_that_start_a_daemon_at_once_share_one(new_home):
    home = new_home({"gpuemu.toml": kernel_op("twice", "scale.ptx"), "scale.ptx": SCALE_PTX.replace("FACTOR", TWO),
                     "ref_twice.py": REFERENCE})
    places = [home.project, *(make(home, f"p{i}").parent for i in range(4))]

    def failures(place):
        import subprocess
        from conftest import BIN
        return subprocess.run([BIN / "gpuemu", "failures"], cwd=place, env=home.env, capture_output=True, text=True, timeout=120)

    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        runs = list(pool.map(failures, places))
    assert [run.returncode for run in runs] == [0] * 5, [run.stderr for run in runs]
    assert len(home.ask("Projects")["projects"]) == 5


def test_a_stopped_daemon_fails_its_jobs_and_says_so(home):
    slow = make(home, "slow", reference="import time\ndef reference(x):\n    time.sleep(0.1)\n    return 2.0 * x\n")
    with home.client() as client:
        job = client.ask("FuzzOp", project=str(slow), op_name="twice", config={"iterations": 100_000}, stream=True)["job_id"]
        while client.ask("JobStatus", job_id=job)["done"] == 0:
            time.sleep(0.05)
        os.kill(home.daemon_pid(), 15)
        while (status := client.ask("JobStatus", job_id=job, wait_ms=1000))["state"] == "running":
            pass
    assert (status["state"], status["code"]) == ("failed", "Stopped"), status
    expected = f"the daemon was stopped; {status['done']} of {status['total']} cases had run"
    assert status["result"]["incomplete"] == expected and status["result"]["error"].startswith(expected), status["result"]
