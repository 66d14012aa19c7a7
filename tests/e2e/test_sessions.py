"""What a person sees: recorded sessions on terminals of 80 and 120 columns, tests/golden/sessions.

GPUEMU_GOLDEN_UPDATE=1 writes them anew.
"""
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios

import pytest

from conftest import BIN, ROOT

GOLDEN = ROOT / "tests/golden/sessions"
FAULTS = ["scale_missing_tail_mask", "reduce_missing_sync", "rowmax_wrong_identity"]


def shown(home, columns, *args, **env):
    """What `gpuemu ARGS` writes on a terminal, without the carriage returns that the terminal adds."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    running = subprocess.Popen([str(BIN / "gpuemu"), *map(str, args)], cwd=home.project, stdin=subprocess.DEVNULL,
                               env={**home.env, "TERM": "xterm", "NO_COLOR": "1", **env}, stdout=theirs, stderr=subprocess.DEVNULL)
    os.close(theirs)
    text = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        text += part
    os.close(ours)
    running.wait(timeout=60)
    return text.decode(errors="replace").replace("\r\n", "\n")


def steady(text, home):
    """Without what is another one in each run: rates, times, the machine's instruction set."""
    text = text.replace(str(home.project), "PROJECT")
    text = re.sub(r"[\d.]+ s\b", "T s", text)
    text = re.sub(r"\d+ cases/s", "N cases/s", text)
    return re.sub(r"emulator \([\w-]+\)", "emulator (ISA)", text)


def expect_golden(name, text):
    path = GOLDEN / name
    if os.environ.get("GPUEMU_GOLDEN_UPDATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path}; GPUEMU_GOLDEN_UPDATE=1 writes it anew"


@pytest.mark.parametrize("columns", [80, 120])
def test_sessions_are_as_recorded(gpuemu, columns):
    tested = shown(gpuemu, columns, "test", "gelu", "vector_add", *FAULTS, "--cases", "8", "--seed", "1")
    seed = re.search(r"= next: gpuemu minimize (\d+)", tested)[1]
    sessions = {"test": tested, "reproduce": shown(gpuemu, columns, "reproduce", seed),
                "fuzz": shown(gpuemu, columns, "fuzz", FAULTS[0], "-i", "8", "--seed", "1", "--unguided"),
                "minimize": shown(gpuemu, columns, "minimize", seed, "--op", FAULTS[0]),
                "explain": shown(gpuemu, columns, "explain", seed, "--op", FAULTS[0])}
    for name, text in sessions.items():
        assert "\x1b" not in text
        assert max(map(len, text.splitlines())) <= columns, text
        expect_golden(f"{name}.{columns}.txt", steady(text, gpuemu))


def test_a_fault_is_one_block_with_its_line_its_case_and_what_to_do(gpuemu):
    text = shown(gpuemu, 120, "test", FAULTS[0], "--cases", "16", "--seed", "1")
    assert len(re.findall(r"^error\[OutOfBounds\]: reads ", text, re.M)) == 1, text
    assert re.search(r"^ +--> kernels/scale_missing_tail_mask\.cu:7", text, re.M), text
    assert re.search(r"^ 7 \|   y\[i\] = factor \* x\[i\];$", text, re.M), text
    assert re.search(r"= case: n=\d+ factor=\S+.*, seed \d+; \d+ of 16 float32 cases fail here", text.replace("\n           ", " ")), text
    assert "= help: guard the access with a bounds check such as `if (i < n)`" in text, text
    seed = re.search(r"= next: gpuemu minimize (\d+)", text)[1]
    assert gpuemu.run("minimize", seed).returncode == 0


@pytest.mark.slow
def test_a_source_that_is_gone_or_garbage_costs_the_excerpt_alone(gpuemu):
    assert gpuemu.run("ci", "--quick", "--seed", "1").returncode == 1
    source = gpuemu.project / "kernels/scale_missing_tail_mask.cu"
    source.write_bytes(b"\xff\xfe\t\x01\r\n" * 6 + b"\ty[i] = \xe9x[i];" + b"z" * 5000 + b"\r\n")
    garbage = shown(gpuemu, 80, "report")
    assert re.search(r"^ 7 \|     y\[i\] = \?x\[i\];z+\.\.\.$", garbage, re.M), garbage
    assert max(map(len, garbage.splitlines())) <= 80, garbage
    source.write_bytes(b"")
    gone = shown(gpuemu, 80, "report")
    assert "--> kernels/scale_missing_tail_mask.cu:7" in gone and "y[i]" not in gone, gone


def test_short_is_one_line_per_finding_and_full_has_blocks_in_a_pipe(gpuemu):
    short = shown(gpuemu, 500, "test", FAULTS[0], "--cases", "4", "--seed", "1", "--format", "short")
    assert re.search(r"^\[FAIL\]\s+scale_missing_tail_mask\s+\(seed: \d+\): .*\[OutOfBounds\] reads ", short, re.M), short
    assert "error[" not in short and "-->" not in short
    full = gpuemu.run("test", FAULTS[0], "--cases", "4", "--seed", "1", "--format", "full")
    assert full.returncode == 1 and "\nerror[OutOfBounds]: reads " in full.stdout and " --> kernels/scale" in full.stdout, full.stdout
    assert "[OutOfBounds]" in full.stderr and "error[" not in full.stderr
    piped = gpuemu.run("test", FAULTS[0], "--cases", "4", "--seed", "1")
    assert "error[" not in piped.stdout and re.search(r"^\[FAIL\] scale_missing_tail_mask \(seed: \d+\): .*; case: ", piped.stdout, re.M)


def test_passing_ops_are_one_line_each_and_their_evidence_one_for_all(gpuemu):
    text = shown(gpuemu, 200, "test", "gelu", "vector_add", "--cases", "8", "--seed", "1")
    assert len(re.findall(r"^\[PASS\]", text, re.M)) == 4
    assert text.count("evidence:") == 1 and re.search(r"^evidence: \d+ of 32 passing cases would have caught a trivial kernel.* \(-v: op by op\)$", text, re.M), text
    details = shown(gpuemu, 200, "test", "gelu", "vector_add", "--cases", "8", "--seed", "1", "-v")
    assert details.count("    evidence: ") == 4, details


def test_ci_shows_blocks_too(gpuemu):
    text = shown(gpuemu, 120, "ci", "--quick", "--seed", "1")
    assert re.search(r"^\[FAIL\] +scale_missing_tail_mask +\(seed: \d+\): \d+ of \d+ float32 cases$", text, re.M), text
    assert "error[OutOfBounds]: " in text and "= next: gpuemu minimize " in text, text
