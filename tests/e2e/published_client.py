"""Uses the published client package, unmodified, as its users do. Run by test_published_client.py with a
Python that has the package; the arguments are the daemon's socket and a PTX file. Prints one JSON object."""
import json
import pathlib
import sys

import gpuemu
import numpy as np

client = gpuemu.Client(sys.argv[1])
saw = {"ping": client.ping()}
x = np.arange(1, 5, dtype=np.float32).reshape(2, 2)


def kinds(output, op="scale", seed=None, inputs=None, **kwargs):
    """What the daemon says of this output: kinds of failure, in order."""
    inputs = {"x": x} if inputs is None else inputs
    if seed is None:
        result = client.validate_op(op, inputs, output, **kwargs)
    else:
        result = client.submit_output(op, inputs, output, seed, **kwargs)
    assert result.passed == (not result.failures) and result.op_name == op
    return [failure["kind"] for failure in result.failures]


def with_value(value):
    wrong = 2 * x
    wrong[1, 0] = value
    return wrong


saw["right"] = kinds(2 * x, factor=2.0, mode="fast")
saw["kwargs"] = kinds(3 * x, factor=3.0)
saw["tolerance"] = kinds(with_value(7))
saw["nan"] = kinds(with_value(np.nan))
saw["inf"] = kinds(with_value(np.inf))
saw["shape"] = kinds((2 * x)[:1])
saw["dtype"] = kinds((2 * x).astype(np.float64))

bad = client.submit_output("scale", {"x": x}, with_value(7), seed=77)
saw["stats"] = [bad.max_diff, bad.error_stats["num_exceeding"], bad.error_stats["count"]]
saw["stored"] = [client.get_result(77).passed, client.get_result(123456789) is None]
saw["failures"] = [77 in [one.seed for one in client.list_failures(50)], len(client.list_results(3))]
again = client.reproduce(77)
saw["reproduced"] = [again.result.seed, again.inputs["x"].tolist(), str(again.inputs["x"].dtype)]

try:
    with gpuemu.validate_op(client, "scale", {"x": x}) as context:
        context["output"] = with_value(7)
    saw["context manager"] = "raised nothing"
except gpuemu.ValidationError as error:
    saw["context manager"] = str(error)

case = client.get_test_case("scale", seed=5)
same = client.get_test_case("scale", seed=5)
saw["case"] = [case["seed"] == same["seed"], bool(np.array_equal(case["inputs"]["x"], same["inputs"]["x"])),
               case["shape"] == list(case["inputs"]["x"].shape)]
saw["batch"] = len(client.get_test_batch("scale", count=7, seed=5))
good = client.fuzz_op_client_side("scale", lambda inputs: 2 * inputs["x"], iterations=10, seed=5, dtypes=["float32"])
saw["client side, right"] = [good.total, good.passed, good.failed]
first = client.fuzz_op_client_side("scale", lambda inputs: inputs["x"] + 1, iterations=10, seed=5, fail_fast=True)
saw["client side, wrong"] = [first.total, first.failed, first.failures[0].passed]


def crash(inputs):
    raise RuntimeError("no such device")


broken = client.fuzz_op_client_side("scale", crash, iterations=3, seed=5)
saw["client side, crash"] = [broken.failed, broken.failures[0].failures[0]["kind"]]

fuzzed = client.fuzz_op("tripled", seed=3, iterations=8, dtypes=["float32"])
saw["fuzz"] = [fuzzed.seed, fuzzed.total, fuzzed.passed + fuzzed.failed, fuzzed.failed > 0,
               [one["kind"] for one in fuzzed.failures[0].failures][:1]]
failing = fuzzed.failures[0].seed
saw["fuzz reproduced"] = [client.reproduce(failing).result.seed == failing, sorted(client.reproduce(failing).inputs)]
small = client.minimize(failing)
saw["minimized"] = [small.original_seed == failing, small.result.passed, len(small.minimized_shape) > 0]

linted = client.lint_kernel(pathlib.Path(sys.argv[2]).read_text())
saw["lint"] = [len(linted), linted[0]["passed"], sorted(linted[0])[:3], linted[0]["metrics"]["register_count"] > 0]
client.store_baseline("published")
for name, call in {"unknown op": lambda: client.fuzz_op("nothing"),
                   "unknown seed": lambda: client.reproduce(404)}.items():
    try:
        call()
        saw[name] = "raised nothing"
    except gpuemu.ClientError as error:
        saw[name] = str(error)
client.close()
print(json.dumps(saw))
