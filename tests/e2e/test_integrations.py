"""Signed pages, completion, the manual page, and what other people's CI installs."""
import base64
import hashlib
import re
import shutil
import subprocess
import tarfile

import pytest

from conftest import BIN, ROOT
from test_ci import project

INSTALL = ROOT / "integrations/install.sh"
GITLAB = ROOT / "integrations/gitlab/gpuemu.gitlab-ci.yml"
ACTION = ROOT / "integrations/github/action.yml"


@pytest.fixture(scope="module")
def page(new_home):
    home = new_home(project(cases=1))
    run = home.run("ci", "--quick", "--signed", "--report", "html=report.html")
    assert run.returncode == 0, run.stderr
    return home


def test_a_signed_page_can_be_checked_with_openssl_alone(page, tmp_path):
    text = (page.project / "report.html").read_bytes()
    marker = b"<!-- gpuemu-signature -->\n"
    body, block = text[:text.index(marker) + len(marker)], text[text.index(marker) + len(marker):].decode()
    digest, signature, key = re.findall("<code>([^<]*)</code>", block)
    assert hashlib.sha256(body).hexdigest() == digest
    (tmp_path / "digest").write_bytes(bytes.fromhex(digest))
    (tmp_path / "signature").write_bytes(base64.b64decode(signature))
    public = page.home / ".gpuemu/sign-ed25519.pub"
    if not shutil.which("openssl"):
        pytest.skip("no openssl on this machine")
    done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in",
                           tmp_path / "digest", "-sigfile", tmp_path / "signature"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    raw = subprocess.run(["openssl", "pkey", "-pubin", "-in", public, "-outform", "DER"], capture_output=True).stdout[-32:]
    assert hashlib.sha256(raw).hexdigest() == key


def test_verify_tells_a_page_from_a_changed_one(page):
    good = page.run("report", "verify", "report.html")
    assert good.returncode == 0 and "unchanged" in good.stdout, good.stderr
    text = (page.project / "report.html").read_text()
    (page.project / "changed.html").write_text(text.replace("all good", "all bad", 1))
    bad = page.run("report", "verify", "changed.html")
    assert bad.returncode == 1 and "changed after" in bad.stdout
    assert page.run("report", "verify", "nothing.html").returncode == 2
    assert page.run("report", "verify", "report.html", "--key", "report.html").returncode == 2
    assert page.run("ci", "--signed").returncode == 2


def test_the_last_run_and_stored_results_can_be_reported_later(page):
    again = page.run("report", "--format", "junit")
    assert again.returncode == 0 and again.stdout.startswith("<?xml"), again.stderr
    stored = page.run("report", "--since-hours", "1", "--format", "json", "--include-lint")
    assert stored.returncode == 0 and '"profile": "stored"' in stored.stdout and '"kernel_name"' in stored.stdout
    assert page.run("report", "--include-artifacts", "none").returncode == 2
    covered = page.run("coverage", "--format", "text")
    assert covered.stdout.startswith("2 of 2 ops have results")


def words_of(text):
    return set(re.findall(r"^  ([a-z]+) ", text, re.M))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_what_the_shell_understands_and_names_every_command(shell):
    script = subprocess.run([BIN / "gpuemu", "completion", shell], capture_output=True, text=True, check=True).stdout
    if shutil.which(shell):
        checked = subprocess.run([shell, "-n", "/dev/stdin"], input=script, capture_output=True, text=True)
        assert checked.returncode == 0, checked.stderr
    for command in ("ci", "lint", "report", "baseline", "completion"):
        assert command in script
    assert "--fail-fast" in script or "fail-fast" in script


def test_bash_completes_commands_options_and_choices():
    script = subprocess.run([BIN / "gpuemu", "completion", "bash"], capture_output=True, text=True, check=True).stdout

    def complete(*words):
        program = script + f"""
COMP_WORDS=({" ".join(f"'{word}'" for word in words)}); COMP_CWORD={len(words) - 1}
_gpuemu; printf '%s\\n' "${{COMPREPLY[@]}}" """
        return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True).stdout.split()

    assert "ci" in complete("gpuemu", "c") and "config" in complete("gpuemu", "c")
    assert complete("gpuemu", "ci", "--sh") == ["--shard"]
    assert complete("gpuemu", "lint", "--format", "s") == ["sarif"]
    assert "save" in complete("gpuemu", "baseline", "sa")


def test_the_manual_page_names_every_command_and_is_sound():
    text = subprocess.run([BIN / "gpuemu", "man"], capture_output=True, text=True, check=True).stdout
    assert text.startswith(".TH GPUEMU 1") and ".SS gpuemu baseline save" in text and ".SS gpuemu ci" in text
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=text, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr


@pytest.fixture
def release(tmp_path):
    """A mirror with one release whose program only says its version."""
    folder = tmp_path / "gpuemu-1.0.0-Linux"
    (folder / "bin").mkdir(parents=True)
    program = folder / "bin/gpuemu"
    program.write_text("#!/bin/sh\necho gpuemu v1.0.0\n")
    program.chmod(0o755)
    file = tmp_path / "mirror/v1.0.0/gpuemu-1.0.0-Linux.tar.gz"
    file.parent.mkdir(parents=True)
    with tarfile.open(file, "w:gz") as archive:
        archive.add(folder, folder.name)
    return tmp_path, hashlib.sha256(file.read_bytes()).hexdigest()


def install(release, **changes):
    folder, digest = release
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GPUEMU_VERSION": "1.0.0", "GPUEMU_SHA256": digest,
           "GPUEMU_URL": f"file://{folder}/mirror", **changes}
    return subprocess.run(["bash", INSTALL, folder / "installed"], env=env, capture_output=True, text=True)


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
def test_the_installer_takes_what_is_pinned_and_nothing_else(release):
    folder, digest = release
    other = ("1" if digest[0] == "0" else "0") + digest[1:]
    for changes, code in (({"GPUEMU_SHA256": other}, 3), ({"GPUEMU_SHA256": ""}, 2), ({"GPUEMU_VERSION": "latest"}, 2),
                          ({"GPUEMU_VERSION": "1.0.1"}, 3), ({"GPUEMU_URL": "http://localhost:1"}, 3)):
        refused = install(release, **changes)
        assert refused.returncode == code and not (folder / "installed").exists(), refused.stderr
    done = install(release)
    assert done.returncode == 0 and (folder / "installed/bin/gpuemu").exists(), done.stderr
    again = install(release)  # As the second use in a job does.
    assert again.returncode == 0 and "already" in again.stderr
    other_pin = install(release, GPUEMU_SHA256=other)
    assert other_pin.returncode == 2 and (folder / "installed/bin/gpuemu").exists()
    (folder / "installed/.gpuemu-sha256").unlink()
    assert install(release).returncode == 2


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
def test_the_gitlab_job_installs_without_a_file_of_this_repository(release):
    yaml = pytest.importorskip("yaml")
    folder, digest = release
    before = yaml.safe_load(GITLAB.read_text())[".gpuemu"]["before_script"]
    written = next(step for step in before if "INSTALLER" in step)
    assert written.partition("<<'INSTALLER'\n")[2] == INSTALL.read_text() + "INSTALLER\n"
    steps = [step.replace("/tmp/install-gpuemu.sh", f"{folder}/install.sh") for step in before if "apt-get" not in step]
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GPUEMU_VERSION": "1.0.0", "GPUEMU_SHA256": digest,
           "GPUEMU_URL": f"file://{folder}/mirror", "GPUEMU_HOME": str(folder / "there")}
    (folder / "checkout").mkdir()
    done = subprocess.run(["bash", "-e", "-c", "\n".join(steps)], env=env, cwd=folder / "checkout", capture_output=True, text=True)
    assert done.returncode == 0 and (folder / "there/bin/gpuemu").exists(), done.stderr


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl on this machine")
def test_the_github_action_can_be_used_several_times_in_a_job(release):
    yaml = pytest.importorskip("yaml")
    folder, digest = release
    runs = [step["run"] for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"] if "run" in step]
    (folder / "path").touch()
    for reports in ("first", "second"):
        at = {"PATH": "/usr/local/bin:/usr/bin:/bin", "RUNNER_TEMP": str(folder / "temp"), "GITHUB_PATH": str(folder / "path"),
              "GITHUB_ACTION_PATH": str(ACTION.parent), "GITHUB_STEP_SUMMARY": str(folder / "summary"), "GPUEMU_VERSION": "1.0.0",
              "GPUEMU_SHA256": digest, "GPUEMU_URL": f"file://{folder}/mirror", "GPUEMU_ARGUMENTS": "--quick", "GPUEMU_REPORTS": reports}
        for run in runs:
            added = (folder / "path").read_text().split()
            done = subprocess.run(["bash", "-e", "-c", run], env={**at, "PATH": ":".join([*reversed(added), at["PATH"]])}, cwd=folder,
                                  capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
        assert (folder / "temp/gpuemu-state" / reports).is_dir()


def test_a_bundle_replaces_its_own_files_and_leaves_everything_else(tmp_path):
    """What scripts/bundle.sh does before and after it installs."""
    prefix = tmp_path / "local"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/gpuemu").write_text("a program that somebody installed")
    (prefix / "bin/gpuemu").chmod(0o755)
    refused = subprocess.run([ROOT / "scripts/bundle.sh", prefix], capture_output=True, text=True)
    assert refused.returncode == 2 and "is no bundle" in refused.stderr and (prefix / "bin/gpuemu").exists()

    def shell(text):
        return subprocess.run(["bash", "-euc", f". '{ROOT}/scripts/bundle_folder.sh'; {text}"], capture_output=True, text=True, cwd=tmp_path)

    made = tmp_path / "a [new]*folder"
    assert shell(f"takes_bundle '{made}'").returncode == 0
    for name in ("bin/gpuemu", "lib/deep/one.so", "share/mine.txt"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    (tmp_path / "manifest").write_text("".join(f"{made}/{name}\n" for name in ("bin/gpuemu", "lib/deep/one.so")))
    assert shell(f"takes_bundle '{made}'").returncode == 1
    done = shell(f"mark_bundle '{made}' manifest; takes_bundle '{made}'; remove_bundle '{made}'")
    assert done.returncode == 0, done.stderr
    assert sorted(str(one.relative_to(made)) for one in made.rglob("*")) == ["share", "share/mine.txt"]
    (made / ".gpuemu-bundle").write_text("../outside\n")
    (tmp_path / "outside").touch()
    assert shell(f"remove_bundle '{made}'").returncode == 1 and (tmp_path / "outside").exists()
