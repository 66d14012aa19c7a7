"""What the command line says and where, beyond what its page shows."""
import json
import os
import pty
import re
import subprocess

from conftest import BIN, read_all

PTX = """.version 7.0
.target sm_75
.address_size 64
.visible .entry none(.param .u64 y) { ret; }
"""
CONFIG = """{top}
[[kernels]]
name = "none"
source = "none.ptx"
reference = "none.py"
inputs = [{{ name = "x", shape = ["n"] }}]
outputs = [{{ name = "y", shape = ["n"] }}]
dims = {{ n = [1, 8] }}
launches = [{{ entry = "{entry}", grid = 1, block = 1, args = ["y"] }}]
"""


def project(gpuemu, top="", entry="none"):
    """A kernel that writes nothing, so that every case fails."""
    gpuemu.project = gpuemu.project.parent / "small"
    gpuemu.project.mkdir()
    (gpuemu.project / "gpuemu.toml").write_text(CONFIG.format(top=top, entry=entry))
    (gpuemu.project / "none.ptx").write_text(PTX)
    (gpuemu.project / "none.py").write_text("def reference(x):\n    return x\n")
    return gpuemu


def test_nothing_to_test_is_no_pass(gpuemu):
    gpuemu.project = gpuemu.home
    for command in ("test", "fuzz"):
        result = gpuemu.run(command)
        assert result.returncode == 2 and "no gpuemu.toml in" in result.stderr and not result.stdout


def test_json_is_one_document_also_when_nothing_runs(gpuemu):
    project(gpuemu)
    for arguments, code in [(("test", "nine"), "InvalidRequest"), (("reproduce", "12"), "NotFound"),
                            (("minimize",), "InvalidRequest"), (("baseline", "compare", "x"), "NotFound"),
                            (("fuzz", "--iterations", "-1"), "InvalidRequest")]:
        result = gpuemu.run(*arguments, "--format", "json")
        reply = json.loads(result.stdout)
        assert (result.returncode, reply["type"], reply["code"]) == (2, "Error", code)
        assert reply["message"].splitlines()[0] in result.stderr
    (gpuemu.project / "gpuemu.toml").write_text("[validation]\ncase = 3\n")
    reply = json.loads(gpuemu.run("test", "--format", "json").stdout)
    assert reply["code"] == "ConfigError" and "validation.case" in reply["message"]


def test_an_op_that_cannot_run_is_an_error_and_neither_pass_nor_skip(gpuemu):
    result = project(gpuemu, entry="nine").run("test")
    assert result.returncode == 3
    assert result.stdout.startswith("[ERROR] none float32: ") and "1 not run" in result.stdout
    assert gpuemu.run("fuzz").returncode == 3


def test_failures_stand_on_both_streams_but_only_once_in_one_place(gpuemu):
    project(gpuemu)
    apart = gpuemu.run("test", "--cases", "2", "--seed", "1")
    assert apart.returncode == 1
    assert apart.stdout.count("[FAIL]") == apart.stderr.count("[FAIL]") == 1
    together = subprocess.run([BIN / "gpuemu", "test", "--cases", "2", "--seed", "1"], cwd=gpuemu.project,
                              env=gpuemu.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert together.stdout.count("[FAIL]") == 1


def test_on_a_terminal_failures_of_one_fault_are_one_entry(gpuemu):
    project(gpuemu)
    assert gpuemu.run("test", "--cases", "8", "--seed", "1").returncode == 1
    lines = gpuemu.run("failures").stdout.splitlines()
    assert len(lines) > 4 and all(line[0].isdigit() for line in lines)
    listed = gpuemu.on_terminal("failures", columns=200).stdout
    assert re.search(rf"^none NotWritten, {len(lines)} cases: ", listed) and listed.count("smallest: ") == 1, listed
    seed = re.search(r"seed (\d+)", listed).group(1)
    assert any(line.startswith(seed) for line in lines)
    assert gpuemu.run("failures", "--format", "full").stdout.count("smallest: ") == 1
    assert len(gpuemu.on_terminal("failures", "--format", "short").stdout.splitlines()) == len(lines)
    newest = gpuemu.on_terminal("failures", "--limit", "2", columns=200).stdout
    assert ", 2 cases: " in newest and "the newest 2 failures only; `--limit N` shows more" in newest


def test_progress_is_drawn_on_a_terminal_and_not_in_a_pipe(gpuemu):
    project(gpuemu)
    command = [str(BIN / "gpuemu"), "fuzz", "--iterations", "400", "--seed", "1", "--format", "json"]
    ours, theirs = pty.openpty()
    report = gpuemu.home / "report.json"
    with report.open("wb") as out:
        running = subprocess.Popen(command, cwd=gpuemu.project, env={**gpuemu.env, "TERM": "xterm"},
                                   stdout=out, stderr=theirs)
    os.close(theirs)
    drawn = read_all(ours)
    running.wait(timeout=60)
    assert b"fuzz none [" in drawn and b"/400" in drawn
    assert json.loads(report.read_text())[0]["total"] == 400
    piped = gpuemu.run("fuzz", "--iterations", "5")
    assert "\r" not in piped.stdout + piped.stderr


def test_the_socket_that_the_project_names_is_used(gpuemu):
    project(gpuemu, top='[daemon]\nsocket = "own.sock"\ndb = "own.db"')
    for name in ("GPUEMU_SOCKET", "GPUEMU_DB"):
        gpuemu.env.pop(name)
    try:
        assert gpuemu.run("test", "--cases", "2", "--seed", "1").returncode == 1
        assert (gpuemu.project / "own.sock").exists()
        assert "own.sock" in gpuemu.run("status").stdout
    finally:
        assert gpuemu.run("daemon", "stop").returncode == 0
    assert not (gpuemu.project / "own.sock").exists()


def test_dtypes_do_not_swallow_the_ops_behind_them(gpuemu):
    result = gpuemu.run("test", "--dtype", "float32", "gelu", "--cases", "1")
    assert result.returncode == 0 and result.stdout.count("[PASS]") == 1


def test_on_a_terminal_reports_have_colours_and_fit_and_in_a_pipe_they_do_not(gpuemu):
    project(gpuemu)
    (gpuemu.project / "gpuemu.toml").write_text(CONFIG.format(top="", entry="none").replace('name = "none"', 'name = "rather_long_name_of_an_op"'))

    def drawn(output_format, **env):
        done = gpuemu.on_terminal("-v", "test", "--cases", "2", "--seed", "1", "--format", output_format, env=env)
        assert done.returncode == 1
        return done.stdout

    piped = gpuemu.run("test", "--cases", "2", "--seed", "1", env={"TERM": "xterm"}).stdout
    assert "\x1b" not in piped and max(map(len, piped.splitlines())) > 80
    plain = drawn("text", NO_COLOR="1")
    assert "\x1b" not in plain and max(map(len, plain.splitlines())) <= 80
    # One finding is one line everywhere: what reads them line by line may give the tool a terminal.
    short = drawn("short")
    assert "\x1b[1;31m[FAIL]\x1b[0m" in short

    def words_of(text):
        """But for times and rates, which are others in each run."""
        return [[word for word in line.split() if not any(letter.isdigit() for letter in word)] for line in text.splitlines()]

    uncoloured = short.replace("\x1b[1;31m", "").replace("\x1b[0m", "")
    assert words_of(uncoloured) == words_of(piped)
