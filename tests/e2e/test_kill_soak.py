"""The short form of tests/soak/kill_soak.py: nothing acknowledged is lost when the daemon is killed."""
import subprocess
import sys

from conftest import BIN, ROOT

SOAK = [sys.executable, str(ROOT / "tests/soak/kill_soak.py"), "--bin", str(BIN)]


def test_three_kills_lose_nothing():
    """One of the daemon, one of a worker, one of a reference."""
    result = subprocess.run([*SOAK, "--rounds", "3", "--cases", "120", "--seed", "3"], text=True,
                            capture_output=True, timeout=120)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "OK, 3 kills" in result.stdout


def test_wrong_options_are_usage_errors():
    for options in (["--cases", "0"], ["--rounds", "-1"], ["--bin", "/nowhere"], ["--no-such-option"]):
        assert subprocess.run([*SOAK, *options], capture_output=True, timeout=60).returncode == 2
