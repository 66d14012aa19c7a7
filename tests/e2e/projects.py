"""Small projects for the tests: ops of existing clients, and a kernel in PTX that needs no compiler."""

# y[i] = factor * x[i], written by hand; the limit check is at LIMIT.
SCALE_PTX = """.version 7.0
.target sm_75
.address_size 64

.visible .entry scale(.param .u64 x, .param .u64 y, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .f32 %f<3>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;

	ld.param.u64 %rd1, [x];
	ld.param.u64 %rd2, [y];
	ld.param.u32 %r1, [n];
	mov.u32 %r2, %ctaid.x;
	mov.u32 %r3, %ntid.x;
	mov.u32 %r4, %tid.x;
	mad.lo.s32 %r5, %r2, %r3, %r4;
	setp.ge.s32 %p1, %r5, %r1;
	@%p1 bra DONE;
	cvta.to.global.u64 %rd3, %rd1;
	cvta.to.global.u64 %rd4, %rd2;
	mul.wide.s32 %rd5, %r5, 4;
	add.s64 %rd6, %rd3, %rd5;
	add.s64 %rd7, %rd4, %rd5;
	ld.global.f32 %f1, [%rd6];
	mul.f32 %f2, %f1, FACTOR;
	st.global.f32 [%rd7], %f2;
DONE:
	ret;
}
"""
TWO, THREE = "0f40000000", "0f40400000"


def kernel_op(name, source, reference="ref_twice.py", extra=""):
    """An op whose kernel is SCALE_PTX or pretends to be."""
    return f"""
[[ops]]
name = "{name}"
kernel = "{name}"
reference = "{reference}"
inputs = [{{ name = "x", shape = ["n"], dtype = "float32" }}]
outputs = [{{ name = "y", shape = ["n"], dtype = "float32" }}]
dims = {{ n = [1, 300] }}
{extra}
[[kernels]]
name = "{name}"
source = "{source}"
launches = [{{ entry = "scale", grid = ["cdiv(n, 128)"], block = ["128"], args = ["x", "y", "i32:n"] }}]
"""


# The stdin contract as scripts in the field write it.
PROCESS_SCRIPT = """import base64, json, sys
import numpy as np
case = json.load(sys.stdin)
record = case["inputs"]["x"]
x = np.frombuffer(base64.b64decode(record["data"]), np.dtype(record["dtype"])).reshape(record["shape"])
y = (EXPRESSION).astype(x.dtype)
json.dump({"shape": list(y.shape), "dtype": str(y.dtype),
           "data": base64.b64encode(np.ascontiguousarray(y).tobytes()).decode()}, sys.stdout)
"""


def process_script(expression):
    return PROCESS_SCRIPT.replace("EXPRESSION", expression)


def client_project():
    """Ops of all execution modes; `tripled` is wrong in its kernel, `off` in its op script."""
    config = """[project]
name = "clients"
[validation]
seed = 7
cases = 4
[[ops]]
name = "scale"
reference = "ref_scale.py"
input_names = ["x"]
[[ops]]
name = "positive"
reference = "ref_copy.py"
input_names = ["x"]
[ops.invariants]
non_negative = true
[[ops]]
name = "empty"
reference = "ref_empty.py"
input_names = ["x"]
[[ops]]
name = "broken"
reference = "ref_broken.py"
input_names = ["x"]
[[ops]]
name = "named"
reference = "ref_named.py"
input_names = ["x"]
[[ops]]
name = "pair"
reference = "ref_copy.py"
input_names = ["a", "b"]
[[ops]]
name = "good"
reference = "ref_twice_process.py"
op_script = "op_twice.py"
execution_mode = "script_based"
input_names = ["x"]
[[ops]]
name = "off"
reference = "ref_twice_process.py"
op_script = "op_off.py"
execution_mode = "script_based"
input_names = ["x"]
""" + kernel_op("twice", "twice.ptx") + kernel_op("tripled", "tripled.ptx")
    return {
        "gpuemu.toml": config,
        "twice.ptx": SCALE_PTX.replace("FACTOR", TWO),
        "tripled.ptx": SCALE_PTX.replace("FACTOR", THREE),
        "ref_scale.py": process_script("x * float(case['kwargs'].get('factor', '2.0'))"),
        "ref_copy.py": process_script("x"),
        "ref_empty.py": "import json\njson.dump({'shape': [0, 3], 'dtype': 'bool', 'data': ''}, "
                        "__import__('sys').stdout)\n",
        "ref_broken.py": "import sys\nsys.exit('the disk of the reference is full')\n",
        "ref_named.py": "def reference(x, factor=1.0, mode='slow'):\n"
                        "    assert mode == 'fast' and isinstance(factor, float)\n"
                        "    return x * factor\n",
        "ref_twice.py": "def reference(x):\n    return 2.0 * x\n",
        "ref_twice_process.py": process_script("x * 2"),
        "op_twice.py": process_script("x + x"),
        # Wrong for rows of more than four elements.
        "op_off.py": process_script("x * (2 if x.shape[-1] <= 4 else 3)"),
    }


def fill_in(home, name, expression):
    """Completes a reference that `gpuemu init` wrote."""
    path = home.project / "scripts" / f"ref_{name}.py"
    text = path.read_text()
    assert "raise NotImplementedError" in text
    path.write_text(text.partition("    raise")[0] + f"    return {expression}\n")
