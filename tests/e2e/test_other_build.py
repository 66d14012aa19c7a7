"""An installation that was updated while its daemon ran: same version, other content."""
import re
import subprocess
import time

from conftest import BIN
from projects import client_project

# Sizes of name and identifier, type 3, name: https://refspecs.linuxfoundation.org/elf/elf.pdf, note sections.
BUILD_ID = re.compile(rb"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0(.{20})", re.DOTALL)


def other_installation(folder):
    """The same programs, but for the identifier in the daemon's file."""
    folder.mkdir()
    for program in BIN.iterdir():
        (folder / program.name).symlink_to(program)
    content = (BIN / "gpuemu-daemon").read_bytes()
    identifier = BUILD_ID.search(content).group(1)
    daemon = folder / "gpuemu-daemon"
    daemon.unlink()
    daemon.write_bytes(content.replace(identifier, identifier[::-1]))
    daemon.chmod(0o755)
    return daemon


def test_a_daemon_of_another_build_is_recognised_and_replaced(new_home, tmp_path):
    home = new_home(client_project())
    home.socket.parent.mkdir(exist_ok=True)
    daemon = subprocess.Popen([other_installation(tmp_path / "bin")], cwd=home.project, env=home.env)
    try:
        deadline = time.monotonic() + 20
        while "running" not in (status := home.run("status").stdout) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert "build:    differs" in status, status
        run = home.run("failures")
        assert "is another build of gpuemu" in run.stderr and "it is restarted" in run.stderr, run.stderr
        assert daemon.wait(10) == 0
        assert "differs" not in home.run("status").stdout
        assert "restarted" not in home.run("failures").stderr
    finally:
        daemon.kill()
        daemon.wait()
