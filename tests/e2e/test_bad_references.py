"""References that hang, crash, flood or lie: each costs its case, is named, and leaves nothing behind."""
import json
import os
import pathlib
import time

import pytest

from projects import SCALE_PTX, TWO, kernel_op, process_script
from wire_client import tensor

OP = """[validation]
reference_timeout_s = 2
reference_memory_limit_mb = 600
seed = 1
[[ops]]
name = "client"
reference = "ref.py"
input_names = ["x"]
""" + kernel_op("kernel", "twice.ptx", "ref.py")

READ = "import json, os, sys, time\ncase = json.load(sys.stdin)\n"
ANSWER = "'{\"shape\": [2], \"dtype\": \"float32\", \"data\": \"AAAAQAAAgEA=\"}'"
FUNCTION = "import os, sys, time\nimport numpy as np\ndef reference(x):\n    "

# Script, and what the message must name beside the script's file.
BAD = {
    "hangs": ("import time\ntime.sleep(100)\n", "time limit"),
    "hangs after the answer": (f"{READ}print({ANSWER})\nsys.stdout.flush()\ntime.sleep(100)\n", "time limit"),
    "hangs with closed pipes": ("import os, time\n[os.close(fd) for fd in (0, 1, 2)]\ntime.sleep(100)\n",
                                "time limit"),
    "stops itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n", "time limit"),
    "raises": ("raise ValueError('no luck today')\n", "no luck today"),
    "exits with 3": ("import sys\nprint('three', file=sys.stderr)\nsys.exit(3)\n", "exit code 3"),
    "calls os._exit": ("import os\nos._exit(7)\n", "exit code 7"),
    "segmentation fault": ("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n", "signal 11"),
    "kills itself": ("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n", "signal 9"),
    "kills its group": ("import os, signal\nos.killpg(0, signal.SIGKILL)\n", "signal 9"),
    "prints garbage": ("print('hello world')\n", "hello world"),
    "prints bytes": ("import sys\nsys.stdout.buffer.write(bytes(range(256)))\n", "JSON"),
    "prints before the answer": (f"{READ}print('loading...')\nprint({ANSWER})\n", "loading..."),
    "prints two answers": (f"{READ}print({ANSWER})\nprint({ANSWER})\n", "JSON"),
    "prints nothing": ("pass\n", "wrote nothing"),
    "prints deep JSON": ("print('[' * 200000)\n", "JSON"),
    "prints NaN": ("print('NaN')\n", "float"),
    "floods standard error and fails": ("import os\nfor _ in range(64): os.write(2, b'e' * (1 << 20))\n"
                                        "os.write(2, b'the end of it')\nos._exit(1)\n", "the end of it"),
    "closes standard input": ("import os\nos.close(0)\nos._exit(4)\n", "exit code 4"),
    "unknown dtype": ("print('{\"shape\": [2], \"dtype\": \"complex64\", \"data\": \"\"}')\n", "complex64"),
    "negative shape": ("print('{\"shape\": [-2], \"dtype\": \"int8\", \"data\": \"\"}')\n", "shape"),
    "huge shape": ("print('{\"shape\": [1099511627776, 1099511627776], \"dtype\": \"int8\", \"data\": \"\"}')\n",
                   "0 bytes"),
    "data too short": ("print('{\"shape\": [3], \"dtype\": \"int8\", \"data\": \"AAA=\"}')\n", "2 bytes"),
    "not base64": ("print('{\"shape\": [3], \"dtype\": \"int8\", \"data\": \"***\"}')\n", "base64"),
    "no Python": ("this is no Python\n", "parse"),
    "a null byte": ("x = 1\0\n", "null"),
    "not UTF-8": (b"# \xff\xfe\nx = '\xff'\n", "ref.py"),
    "imports what is not there": ("import no_such_module\n", "no_such_module"),
    "uses all memory": ("x = [b'x' * (1 << 60)]\n", "MemoryError"),
    "uses more memory than it may": ("x = b'x' * (700 << 20)\n", "reference_memory_limit_mb"),
    "function uses more memory than it may": (FUNCTION + "return np.ones(90 << 20)\n", "may hold 600 MiB"),
    # The function form runs in the host itself.
    "function returns None": (FUNCTION + "pass\n", "None"),
    "function returns a complex array": (FUNCTION + "return x + 1j\n", "complex"),
    "function returns text": (FUNCTION + "return 'two'\n", "dtype"),
    "function returns objects": (FUNCTION + "return np.array([object()])\n", "object"),
    "function returns a ragged list": (FUNCTION + "return [[1], [2, 3]]\n", "ref.py"),
    "function returns a masked array": (FUNCTION + "return np.ma.masked_array(x, mask=True)\n", "masked"),
    "function raises half a character": (FUNCTION + "raise ValueError('\\ud800 half')\n", "half"),
    "function raises": (FUNCTION + "raise RuntimeError('out of ideas')\n", "out of ideas"),
    "function exits": (FUNCTION + "sys.exit('leaving')\n", "leaving"),
    "function calls os._exit": (FUNCTION + "os._exit(5)\n", "exit code 5"),
    "function segfaults": (FUNCTION + "os.kill(os.getpid(), 11)\n", "signal 11"),
    "function hangs": (FUNCTION + "time.sleep(100)\n", "did not answer"),
    "function hangs and ignores signals": (
        "import signal, time\ndef reference(x):\n    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n"
        "    while True: time.sleep(1)\n", "did not answer"),
    "function writes to the control socket": (FUNCTION + "os.write(103, b'garbage\\n')\n    return x\n", "do not begin a frame"),
    "function closes the control socket": (FUNCTION + "os.close(103)\n    return x\n", "ended"),
    "function wants another input": ("def reference(weight):\n    return weight\n", "`weight`"),
    "reference is a number": ("reference = 4\n", "not a function"),
    "function returns 32 GiB": (FUNCTION + "return np.zeros(1 << 32)\n", "reference_memory_limit_mb"),
    "function recurses": (FUNCTION + "return reference(x)\n", "RecursionError"),
}
SLOW = {
    "prints 1 GB": (f"{READ}for _ in range(1024): os.write(1, b' ' * (1 << 20))\n", "536870912"),
    "prints 1 GB to standard error": ("import os\nfor _ in range(1024): os.write(2, b'e' * (1 << 20))\n"
                                      "os._exit(1)\n", "exit code 1"),
}
# Odd, but right.
FINE = {
    "reads after writing": f"import sys\nprint({ANSWER})\nsys.stdout.flush()\nsys.stdin.read()\n",
    "does not read": f"print({ANSWER})\n",
    "closes standard input at once": f"import os\nos.close(0)\nprint({ANSWER})\n",
    "white space around": f"{READ}print('\\n\\n ', {ANSWER}, '\\n')\n",
    "much on standard error": f"{READ}sys.stderr.write('e' * (8 << 20))\nprint({ANSWER})\n",
    "exits with 0": f"{READ}print({ANSWER})\nsys.exit(0)\n",
    "standard error closed": f"{READ}os.close(2)\nprint({ANSWER})\n",
    "a child that stays": f"{READ}\nif os.fork() == 0:\n    time.sleep(100)\nprint({ANSWER})\n",
    "a daemon that stays": f"{READ}\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(100)\n"
                           f"    os._exit(0)\nprint({ANSWER})\n",
    "function uses the memory that it may": FUNCTION + "np.ones(10 << 20)\n    return 2 * x\n",
    "function prints": FUNCTION + "print('noise' * 1000)\n    return 2 * x\n",
    "function forks": FUNCTION + "os.fork()\n    return 2 * x\n",
    "function starts a process": FUNCTION + "import subprocess; subprocess.Popen(['sleep', '100'])\n    return 2 * x\n",
    "function changes folder and arguments": FUNCTION + "os.chdir('/'); sys.argv.clear()\n    return 2 * x\n",
}


@pytest.fixture(scope="module")
def home(new_home):
    instance = new_home({"gpuemu.toml": OP, "ref.py": "", "twice.ptx": SCALE_PTX.replace("FACTOR", TWO)})
    instance.pid = instance.start()
    return instance


def write(home, script):
    (home.project / "ref.py").write_bytes(script if isinstance(script, bytes) else script.encode())


def validate(home):
    return home.ask("ValidateOp", op_name="client", inputs={"x": tensor([1.0, 2.0])},
                    output=tensor([2.0, 4.0]), kwargs={})


def still_serving(home):
    """The same daemon, the same op, a right reference."""
    assert home.daemon_pid() == home.pid
    write(home, process_script("x * 2"))
    reply = validate(home)
    assert reply["type"] == "ValidationResult" and reply["result"]["passed"], reply


def refused(home, script, mention):
    write(home, script)
    reply = validate(home)
    assert reply["type"] == "Error" and reply["code"] == "ReferenceScriptFailed", reply
    assert "ref.py" in reply["message"] and mention in reply["message"], reply["message"]
    assert len(reply["message"]) < 8192
    still_serving(home)


@pytest.mark.parametrize("name", BAD)
def test_a_reference_that_misbehaves_is_named(home, name):
    refused(home, *BAD[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_a_reference_that_floods_is_named(home, name):
    refused(home, *SLOW[name])


@pytest.mark.parametrize("name", FINE)
def test_a_reference_that_is_merely_odd_counts(home, name):
    write(home, FINE[name])
    reply = validate(home)
    assert reply["type"] == "ValidationResult" and reply["result"]["passed"], reply
    still_serving(home)


@pytest.mark.parametrize("script, kind", [
    (process_script("x.reshape(1, 2)"), "ShapeMismatch"),
    (process_script("x * 2").replace(".astype(x.dtype)", ".astype('int32')"), "DTypeMismatch"),
    (process_script("x * np.nan"), "ToleranceExceeded"),
])
def test_a_reference_that_lies_is_a_finding(home, script, kind):
    write(home, script)
    result = validate(home)["result"]
    assert kind in {one["kind"] for one in result["failures"]}


@pytest.mark.parametrize("name", ["hangs", "raises", "function segfaults", "function returns None",
                                  "prints garbage"])
@pytest.mark.parametrize("guided", [False, True])
def test_in_a_fuzz_run_of_which_it_answers_no_case_it_is_one_error(home, name, guided):
    script, mention = BAD[name]
    write(home, script)
    stored = len(home.ask("ListFailures", limit=100)["results"])
    reply = home.ask("FuzzOp", op_name="kernel", config={"iterations": 2, "seed": 1}, fail_fast=True, guided=guided)
    assert reply["type"] == "Error" and reply["code"] == "ReferenceScriptFailed", reply
    assert mention in reply["message"] and "ref.py" in reply["message"], reply["message"]
    assert len(home.ask("ListFailures", limit=100)["results"]) == stored
    still_serving(home)


def test_in_a_fuzz_run_of_which_it_answers_some_cases_it_is_a_finding_of_the_others(home):
    write(home, "def reference(x):\n    if x.size % 2 == 0:\n        raise ValueError('even')\n    return 2 * x\n")
    reply = home.ask("FuzzOp", op_name="kernel", config={"iterations": 24, "seed": 1})
    assert reply["type"] == "FuzzResults" and 1 <= reply["failed"] < reply["total"] == 24, reply
    (first, *_) = reply["failures"][0]["failures"]
    assert first["kind"] == "ReferenceError" and "even" in first["message"] and "ref.py" in first["message"]
    still_serving(home)


def test_a_reference_that_vanishes_is_named(home):
    (home.project / "ref.py").unlink()
    reply = validate(home)
    assert reply["type"] == "Error" and "ref.py" in reply["message"], reply
    still_serving(home)


def test_nothing_that_a_reference_started_outlives_it(home):
    for name in ("a child that stays", "a daemon that stays", "function starts a process", "function forks"):
        write(home, FINE[name])
        validate(home)
    still_serving(home)
    workers = home.ask("DaemonStatus")["workers"]
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        # The daemon, its workers, and two Pythons for each.
        if len(home.processes()) <= 1 + 3 * workers:
            return
        time.sleep(0.1)
    names = [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()[:80] for pid in home.processes()]
    pytest.fail(f"{len(names)} processes for {workers} workers: {names}")


@pytest.mark.parametrize("python", ["/nowhere/python3", "/bin/false", "/bin/cat", "no-such-python"])
def test_a_missing_python_is_named_with_the_remedy(new_home, python):
    own = new_home({"gpuemu.toml": f"[runtime]\npython = \"{python}\"\n" + OP, "ref.py": "x = 1\n",
                    "twice.ptx": SCALE_PTX.replace("FACTOR", TWO)})
    own.start()
    reply = validate(own)
    assert reply["type"] == "Error", reply
    assert python in reply["message"] and "[runtime].python" in reply["message"], reply["message"]
    result = own.run("test", "--cases", "1")
    said = result.stdout + result.stderr
    assert result.returncode == 3 and python in said and "[runtime].python" in said, said
    assert own.ask("Ping")["type"] == "Pong"
