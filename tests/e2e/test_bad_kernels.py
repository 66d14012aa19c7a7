"""PTX that is wrong in every way: an error that names file and line, never a pass, never a crash."""
import pytest

from conftest import cuda_tool
from projects import SCALE_PTX, TWO, kernel_op

RIGHT = SCALE_PTX.replace("FACTOR", TWO)
ARGS = '["x", "y", "i32:n"]'

# Source file, its content, and what the message must name.
SOURCES = {
    "empty": ("empty.ptx", "", "empty.ptx:"),
    "blank": ("blank.ptx", "  \n\n// nothing\n", "blank.ptx:"),
    "binary": ("binary.ptx", bytes(range(256)) * 100, "binary.ptx:"),
    "zeros": ("zeros.ptx", bytes(10_000), "zeros.ptx:"),
    "missing semicolon": ("semicolon.ptx", RIGHT.replace("ret;", "ret"), "semicolon.ptx:"),
    "missing brace": ("brace.ptx", RIGHT.rstrip().rstrip("}"), "brace.ptx"),
    "no version": ("version.ptx", RIGHT.replace(".version 7.0", ""), "version.ptx"),
    "unknown register": ("register.ptx", RIGHT.replace("st.global.f32 [%rd7], %f2", "st.global.f32 [%rd7], %f9"),
                         "%f9"),
    "unknown label": ("label.ptx", RIGHT.replace("bra DONE", "bra GONE"), "GONE"),
    "unknown parameter": ("parameter.ptx", RIGHT.replace("[n]", "[m]"), "m"),
    "deep nesting": ("nesting.ptx", RIGHT.replace("ret;", "{" * 100_000 + "ret;" + "}" * 100_000), "nesting.ptx"),
    "a line of a million letters": ("letters.ptx", RIGHT.replace("ret;", "x" * 1_000_000 + ";"),
                                    "PTX line 30"),
    "invalid UTF-8": ("utf8.ptx", RIGHT.replace("ret;", "\udcff\udcfe;").encode("utf-8", "surrogateescape"),
                      "utf8.ptx:"),
    "CUDA in a .ptx": ("cuda.ptx", "__global__ void scale(float* x) {}\n", "cuda.ptx:"),
    "HTML": ("page.ptx", "<html><body>404</body></html>\n", "page.ptx:"),
    "cut in the middle": ("cut.ptx", RIGHT[:len(RIGHT) // 2], "cut.ptx"),
    "no entry at all": ("noentry.ptx", ".version 7.0\n.target sm_75\n.address_size 64\n", "noentry.ptx"),
    "another entry": ("other.ptx", RIGHT.replace("entry scale", "entry skale"), "skale"),
}
# Launch data, and what the message must name: found before anything runs, case by case.
LAUNCHES = {
    "too few arguments": ("args = " + ARGS, 'args = ["x", "y"]', "argument"),
    "too many arguments": ("args = " + ARGS, 'args = ["x", "y", "i32:n", "i32:n"]', "argument"),
    "a wrong size": ("args = " + ARGS, 'args = ["x", "y", "i64:n"]', "argument"),
    "a scalar for a pointer": ("args = " + ARGS, 'args = ["x", "i32:n", "i32:n"]', "argument"),
    "block too large": ('block = ["128"]', 'block = ["2048 + n - n"]', "2048"),
    "block of nothing": ('block = ["128"]', 'block = ["n - n"]', "0"),
    "grid too large": ('grid = ["cdiv(n, 128)"]', 'grid = ["1", "70000"]', "70000"),
    "division by zero": ('grid = ["cdiv(n, 128)"]', 'grid = ["n / (n - n)"]', "n / (n - n)"),
    "negative grid": ('grid = ["cdiv(n, 128)"]', 'grid = ["0 - n"]', "0 - n"),
    "too much shared memory": ('block = ["128"]', 'block = ["128"], shared = "1073741824"', "1073741824"),
    "a null pointer": ("args = " + ARGS, 'args = ["x", "ptr:null", "i32:n"]', "0x0"),
}


def project():
    files = {"ref_twice.py": "def reference(x):\n    return 2.0 * x\n", "twice.ptx": RIGHT}
    config = "[validation]\nseed = 1\n" + kernel_op("right", "twice.ptx")
    for number, (file, content, _) in enumerate(SOURCES.values()):
        files[file] = content
        config += kernel_op(f"source{number}", file)
    for number, (old, new, _) in enumerate(LAUNCHES.values()):
        op = kernel_op(f"launch{number}", "twice.ptx")
        assert old in op
        config += op.replace(old, new)
    return {**files, "gpuemu.toml": config}


@pytest.fixture(scope="module")
def home(new_home):
    instance = new_home(project())
    instance.pid = instance.start()
    return instance


def serves_on(home):
    assert home.daemon_pid() == home.pid
    reply = home.ask("FuzzOp", op_name="right", config={"iterations": 2, "seed": 1}, fail_fast=False)
    assert (reply["type"], reply["passed"]) == ("FuzzResults", 2), reply


@pytest.mark.parametrize("name", SOURCES)
def test_a_source_that_cannot_be_used_is_an_error(home, name):
    file, _, mention = SOURCES[name]
    op = f"source{list(SOURCES).index(name)}"
    reply = home.ask("FuzzOp", op_name=op, config={"iterations": 2, "seed": 1}, fail_fast=False)
    if reply["type"] == "FuzzResults":
        # Reported when the instruction is executed, as a finding.
        assert reply["failed"] == 2, reply
        said = reply["failures"][0]["failures"][0]["message"]
    else:
        assert reply["type"] == "Error", reply
        said = reply["message"]
    assert mention in said, said[:2000]
    serves_on(home)


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_that_does_not_fit_is_named_before_it_runs(home, name):
    mention = LAUNCHES[name][2]
    op = f"launch{list(LAUNCHES).index(name)}"
    reply = home.ask("FuzzOp", op_name=op, config={"iterations": 2, "seed": 1}, fail_fast=False)
    if reply["type"] == "FuzzResults":
        assert reply["failed"] == 2, reply
        said = " ".join(one["message"] for one in reply["failures"][0]["failures"])
    else:
        assert reply["type"] == "Error", reply
        said = reply["message"]
    assert mention in said, said
    serves_on(home)


@pytest.mark.parametrize("name", ["missing semicolon", "another entry", "binary"])
def test_the_command_line_says_it_too(home, name):
    op = f"source{list(SOURCES).index(name)}"
    result = home.run("fuzz", "--op", op, "--iterations", "2")
    assert result.returncode == 3, result.stdout + result.stderr
    assert SOURCES[name][2] in result.stderr


def test_a_missing_source_is_a_configuration_error(new_home):
    own = new_home({"gpuemu.toml": kernel_op("gone", "gone.ptx"), "ref_twice.py": "def reference(x): return x\n"})
    result = own.run("test")
    assert result.returncode == 2 and "gone.ptx" in result.stderr and "gpuemu.toml:" in result.stderr


def test_an_op_of_which_no_case_can_run_is_an_error_and_a_dtype_may_be_left_out(new_home):
    two = 'dtypes = ["float32", "float64"]\n'
    config = kernel_op("never", "twice.ptx", extra=two) + 'supports = "n < 0"\n' + kernel_op("narrow", "twice.ptx", extra=two)
    config = config.replace(', dtype = "float32"', "") + """supports = "dtype == 'float32'"\n"""
    own = new_home({"gpuemu.toml": config, "ref_twice.py": "def reference(x): return 2.0 * x\n", "twice.ptx": RIGHT})
    both = own.run("test", "--cases", "4")
    assert both.returncode == 3, both.stdout + both.stderr
    assert "[ERROR] never float64: no kernel supports any of its cases" in both.stderr + both.stdout
    assert "[PASS] narrow float32" in both.stdout and "[SKIP] narrow float64" in both.stdout
    assert own.run("test", "narrow", "--cases", "4").returncode == 0
    gate = own.run("ci", "--quick")
    assert gate.returncode == 3 and "no kernel supports any of its cases" in gate.stdout + gate.stderr


@pytest.mark.skipif(cuda_tool("ptxas") is None, reason="ptxas tells how many registers a kernel needs")
def test_a_block_with_more_registers_than_a_gpu_has_is_refused_as_a_gpu_refuses_it(new_home):
    """100 values that are all read before the first is written: no thread of 1024 can have them."""
    values = [(f"%g{i}", f"[%rd4+{4 * i}]") for i in range(100)]
    greedy = RIGHT.replace(".reg .f32 %f<3>;", ".reg .f32 %f<3>; .reg .f32 %g<100>;").replace(
        "DONE:", "".join([f"ld.volatile.global.f32 {value}, {place};\n" for value, place in values] +
                         [f"st.volatile.global.f32 {place}, {value};\n" for value, place in values]) + "DONE:")
    large = kernel_op("greedy", "greedy.ptx").replace("128", "1024")
    files = {"greedy.ptx": greedy, "bounded.ptx": RIGHT, "ref_twice.py": "def reference(x): return 2 * x\n"}
    own = new_home({**files, "gpuemu.toml": large + kernel_op("bounded", "bounded.ptx").replace("128", "1024")})
    refused = own.run("test", "greedy", "--cases", "2")
    said = refused.stdout + refused.stderr
    assert refused.returncode != 0 and "needs more registers than a multiprocessor has" in said and "__launch_bounds__" in said, said
    assert own.run("test", "bounded", "--cases", "2").returncode == 0, "few registers fit in as large a block"
