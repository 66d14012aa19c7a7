"""An existing client, byte for byte as the protocol describes it, against the real daemon.

Replies are checked member by member: names, JSON types, spelling, the form of errors.
"""
import base64
import json
import pathlib
import struct
import time

import pytest

from projects import client_project
from wire_client import tensor
from wire_records import DTYPES, U64, check_error, check_repro, check_result, check_tensor, fuzz_config, integer

ROOT = pathlib.Path(__file__).resolve().parents[2]
VECTORS = json.loads((ROOT / "tests/crosslang/legacy_generator_vectors.json").read_text())
# The exact bytes of the published client's encoder.
PASSING = (b'{"type": "ValidateOp", "op_name": "scale", "inputs": {"x": {"shape": [2, 2], "strides": [8, 4], '
           b'"dtype": "float32", "data": "AACAPwAAAEAAAEBAAACAQA=="}}, "output": {"shape": [2, 2], '
           b'"strides": [8, 4], "dtype": "float32", "data": "AAAAQAAAgEAAAMBAAAAAQQ=="}, '
           b'"kwargs": {"factor": "2.0", "mode": "fast"}}')
REVERSED = (b'{"type": "ValidateOp", "op_name": "scale", "inputs": {"x": {"shape": [2, 2], "strides": [4, 8], '
            b'"dtype": "float32", "data": "AACAPwAAQEAAAABAAACAQA=="}}, "output": {"shape": [2, 2], '
            b'"strides": [-8, 4], "dtype": "float32", "data": "AABAQAAAgEAAAIA/AAAAQA=="}, "kwargs": {}}')
EMPTY = (b'{"type": "ValidateOp", "op_name": "empty", "inputs": {"x": {"shape": [], "strides": [], '
         b'"dtype": "float64", "data": "AAAAAAAACEA="}}, "output": {"shape": [0, 3], "strides": [0, 0], '
         b'"dtype": "bool", "data": ""}, "kwargs": {}}')
FAILING = (b'{"type": "SubmitOutput", "op_name": "scale", "inputs": {"x": {"shape": [2, 2], "strides": [8, 4], '
           b'"dtype": "float32", "data": "AACAPwAAAEAAAEBAAACAQA=="}}, "output": {"shape": [2, 2], '
           b'"strides": [8, 4], "dtype": "float32", "data": "AACAPwAAAEAAAEBAAACAQA=="}, "seed": 9, '
           b'"kwargs": {}}')


@pytest.fixture(scope="module")
def home(new_home):
    instance = new_home(client_project())
    instance.start()
    return instance


@pytest.fixture
def client(home):
    with home.client() as connected:
        yield connected


def submit(client, seed, values, op="scale", **members):
    x = tensor([1.0, 2.0, 3.0, 4.0])
    return client.ask("SubmitOutput", op_name=op, inputs={"x": x}, output=tensor(values), seed=seed,
                      kwargs={}, **members)


# --- one test per request --------------------------------------------------------------------------

def test_ping_answers_version_1_to_the_exact_bytes(client):
    reply = client.ask(b'{"type": "Ping"}')
    assert reply["type"] == "Pong" and type(reply["version"]) is str
    assert reply["protocol_version"] == 1 and integer(reply["uptime_secs"])


def test_many_requests_share_a_connection_and_every_reply_is_compact_json(client):
    for _ in range(50):
        client.send(b'{"type": "Ping"}')
        assert client.reply_text().startswith('{"type":"Pong"')


def test_unknown_members_are_ignored(client):
    assert client.ask("Ping", payload={"a": [1, None]}, extra=3)["type"] == "Pong"


def test_validate_op_passes(client):
    reply = client.ask(PASSING)
    assert reply["type"] == "ValidationResult"
    result = check_result(reply["result"], "scale", True)
    assert result["max_diff"] == 0 and result["repro_info"] is None
    assert result["error_stats"]["count"] == 4 and result["error_stats"]["max_ulp"] == 0
    assert result["seed"] > 2**60
    stored = client.ask("GetResult", seed=result["seed"])
    assert stored["type"] == "ValidationResult" and stored["result"] == result


def test_byte_strides_are_not_used_to_address_data(client):
    # x is [[1, 3], [2, 4]] packed; the reference doubles it, the output is wrong in every element.
    result = check_result(client.ask(REVERSED)["result"], "scale", False, ["ToleranceExceeded"])
    first = result["failures"][0]
    assert (first["index"], first["expected"], first["actual"]) == (0, 2.0, 3.0)


def test_scalars_and_empty_tensors(client):
    result = check_result(client.ask(EMPTY)["result"], "empty", True)
    assert result["max_diff"] == 0.0


def test_missing_kwargs_mean_none(client):
    request = json.loads(PASSING)
    del request["kwargs"]
    assert client.ask(request)["result"]["passed"] is True


def test_a_failing_submission_is_the_example_of_the_protocol(client):
    reply = client.ask(FAILING)
    assert reply["type"] == "SubmitResult"
    result = check_result(reply["result"], "scale", False, ["ToleranceExceeded"])
    assert result["seed"] == 9 and result["max_diff"] == 4.0 and result["max_rel_diff"] == 0.5
    first = result["failures"][0]
    assert (first["index"], first["expected"], first["actual"]) == (0, 2.0, 1.0)
    stats = result["error_stats"]
    assert {name: stats[name] for name in stats if name not in ("mean_ulp", "mean_signed_ulp")} == {
        "count": 4, "num_exceeding": 4, "max_abs": 4.0, "mean_abs": 2.5, "p50_abs": 3.0,
        "p90_abs": 4.0, "p99_abs": 4.0, "max_rel": 0.5, "mean_rel": 0.5, "max_ulp": 8388608}
    assert stats["mean_ulp"] == 8388608.0


def test_a_failing_submission_is_listed_and_reproduced_with_its_inputs(client):
    submit(client, 77, [2, 4, 6, 9])
    listed = client.ask("ListFailures", limit=1)
    assert listed["type"] == "Results" and [one["seed"] for one in listed["results"]] == [77]
    check_repro(listed["results"][0]["repro_info"])
    reply = client.ask("Reproduce", seed=77)
    assert reply["type"] == "ReproduceResult"
    check_result(reply["result"], "scale", False, ["ToleranceExceeded"])
    assert check_tensor(reply["inputs"]["x"], [4]) == [1, 2, 3, 4]


@pytest.mark.parametrize("request_type, what", [("Explain", "explained"), ("ExportCase", "exported"), ("Minimize", "minimized")])
def test_a_failing_submission_has_no_kernel_to_run_it_with(client, request_type, what):
    submit(client, 78, [2, 4, 6, 9])
    check_error(client.ask(request_type, seed=78, strategy="BinarySearchDims", max_iters=4), "InvalidRequest", "78", "'scale'", f"cannot be {what}: a client submitted it")


def test_the_largest_seed_arrives_exactly(client):
    assert submit(client, U64, [2, 4, 6, 8])["result"]["seed"] == U64
    assert client.ask("GetResult", seed=U64)["result"]["seed"] == U64


def test_a_seed_of_two_ops_keeps_both_records(client):
    submit(client, 500, [2, 4, 6, 8])
    submit(client, 500, [1, 2, 3, 4], op="positive")
    assert client.ask("GetResult", seed=500)["result"]["op_name"] == "positive"
    assert client.ask("GetResult", seed=500, op_name="scale")["result"]["op_name"] == "scale"
    listed = client.ask("ListResults", limit=2)["results"]
    assert [(one["op_name"], one["seed"]) for one in listed] == [("positive", 500), ("scale", 500)]


def test_a_bare_seed_reproduces_the_newest_failure_of_any_op(client):
    wrong = [9, 9, 9, 9]
    for newest in ("scale", "positive", "scale"):
        submit(client, 501, wrong, op=newest)
        reply = client.ask("Reproduce", seed=501)
        assert reply["type"] == "ReproduceResult", reply
        assert reply["result"]["op_name"] == newest
    assert client.ask("Reproduce", seed=501, op_name="positive")["result"]["op_name"] == "positive"


def test_get_result_of_an_unknown_seed_is_not_found(client):
    check_error(client.ask("GetResult", seed=123456), "NotFound", "123456")


@pytest.mark.parametrize("request_type", ["ListResults", "ListFailures"])
def test_listings_are_newest_first_and_limited(client, request_type):
    for seed in (601, 603, 602):
        submit(client, seed, [0, 0, 0, 0])
    reply = client.ask(request_type, limit=3)
    assert reply["type"] == "Results"
    assert [one["seed"] for one in reply["results"]] == [602, 603, 601]
    for one in reply["results"]:
        check_result(one, "scale", False)
    assert client.ask(request_type, limit=0)["results"] == []


def test_each_mismatch_has_its_kind(client):
    x = tensor([1.0, 2.0])
    ask = lambda output: client.ask("ValidateOp", op_name="scale", inputs={"x": x}, output=output, kwargs={})
    shape = check_result(ask(tensor([2.0, 4.0], shape=[2, 1]))["result"], "scale", False, ["ShapeMismatch"])
    assert shape["max_diff"] == 0.0 and shape["error_stats"] is None
    dtype = check_result(ask(tensor([2.0, 4.0], "float64"))["result"], "scale", False, ["DTypeMismatch"])
    assert dtype["error_stats"] is None
    both = ask(tensor([2, 4], "int8", [1, 2]))["result"]
    assert {one["kind"] for one in both["failures"]} == {"ShapeMismatch", "DTypeMismatch"}
    nan = check_result(ask(tensor([float("nan"), 4.0]))["result"], "scale", False, ["NaNDetected"])
    assert nan["failures"][0]["actual"] is None
    check_result(ask(tensor([float("inf"), 4.0]))["result"], "scale", False, ["InfDetected"])


def test_an_invariant_names_index_and_value(client):
    x = tensor([-1.0, 2.0])
    result = client.ask("ValidateOp", op_name="positive", inputs={"x": x}, output=x, kwargs={})["result"]
    broken = [one for one in result["failures"] if one["kind"] == "InvariantViolation"]
    assert (broken[0]["index"], broken[0]["actual"]) == (0, -1.0)


@pytest.mark.parametrize("dtype", sorted(DTYPES - {"bfloat16"}))
def test_every_dtype_travels_and_compares(client, dtype):
    values = [1, 0, 1] if dtype == "bool" else [1, 0, 3]
    x = tensor(values, dtype)
    ask = lambda output: client.ask("ValidateOp", op_name="positive", inputs={"x": x}, output=output, kwargs={})
    check_result(ask(x)["result"], "positive", True)
    check_result(ask(tensor([1, 1, 1], dtype))["result"], "positive", False, ["ToleranceExceeded"])


def test_kwargs_reach_a_function_as_numbers_and_texts(client):
    reply = client.ask("ValidateOp", op_name="named", inputs={"x": tensor([1.0])}, output=tensor([2.5]),
                       kwargs={"factor": "2.5", "mode": "fast", "unused": "x"})
    assert reply["type"] == "ValidationResult" and reply["result"]["passed"], reply


@pytest.mark.parametrize("request_type", ["ValidateOp", "SubmitOutput"])
def test_errors_of_op_and_reference_carry_what_the_user_needs(client, request_type):
    x = tensor([1.0])
    ask = lambda op: client.ask(request_type, op_name=op, inputs={"x": x}, output=x, kwargs={}, seed=1)
    check_error(ask("scales"), "OpNotFound", "scales", "scale", "twice")
    check_error(ask("broken"), "ReferenceScriptFailed", "ref_broken.py", "the disk of the reference is full")


def test_baselines_are_stored_replaced_and_compared(client):
    submit(client, 900, [2, 4, 6, 8])
    assert client.ask("StoreBaseline", tag="v1") == {"type": "Ok"}
    same = client.ask("CompareBaseline", tag="v1")
    assert same["type"] == "BaselineComparison" and same["baseline_tag"] == "v1"
    assert same["has_regressions"] is False
    submit(client, 900, [2, 4, 6, 9])
    worse = client.ask("CompareBaseline", tag="v1")
    assert worse["has_regressions"] is True
    (one,) = [one for one in worse["comparisons"] if (one["op_name"], one["seed"]) == ("scale", 900)]
    assert one == {"op_name": "scale", "seed": 900, "current_max_diff": 1.0, "baseline_max_diff": 0.0,
                   "current_passed": False, "baseline_passed": True, "relative_change": 1.0 / 1e-15,
                   "is_regression": True}
    assert client.ask("StoreBaseline", tag="v1") == {"type": "Ok"}
    assert client.ask("CompareBaseline", tag="v1")["has_regressions"] is False
    check_error(client.ask("CompareBaseline", tag="v2"), "NotFound", "v2")


def test_fuzz_op_of_a_script_op_counts_and_returns_failures_in_order(client):
    reply = client.ask("FuzzOp", op_name="off", fuzz_config=fuzz_config(), iterations=4, fail_fast=False)
    assert reply["type"] == "FuzzResults" and reply["seed"] == 5 and reply["total"] == 4
    assert reply["passed"] + reply["failed"] == 4 and reply["failed"] == len(reply["failures"]) > 0
    first = check_result(reply["failures"][0], "off", False, ["ToleranceExceeded"])
    assert first["repro_info"]["fuzz_config"]["seed"] == 5
    assert first["repro_info"]["seed"] == first["seed"]
    again = client.ask("Reproduce", seed=first["seed"], op_name="off")
    assert again["type"] == "ReproduceResult" and again["result"]["failures"] == first["failures"]
    check_tensor(again["inputs"]["x"], first["repro_info"]["shape"])


def test_fuzzing_an_op_script_takes_its_seed_and_dtypes_from_config(client):
    def run(**config):
        return client.ask("FuzzOp", op_name="off", config={"iterations": 2, **config})

    first, again = run(seed=5, dtypes=["float32"]), run(seed=5, dtypes=["float32"])
    assert first["seed"] == 5 and first["total"] == 2
    assert [f["seed"] for f in first["failures"]] == [f["seed"] for f in again["failures"]]
    assert run()["seed"] == 7  # validation.seed of the project.
    for name, value in {"strategies": ["zeros"], "min_shape": [1], "max_shape": [2]}.items():
        check_error(run(**{name: value}), "InvalidRequest", f"config.{name}", "off")


def test_fuzz_op_stops_at_the_first_failure_when_asked(client):
    reply = client.ask("FuzzOp", op_name="off", fuzz_config=fuzz_config(), iterations=50, fail_fast=True)
    assert reply["failed"] == 1 and reply["total"] == reply["passed"] + 1 < 50


def test_fuzz_op_of_a_right_script_passes(client):
    reply = client.ask("FuzzOp", op_name="good", fuzz_config=fuzz_config(), iterations=2, fail_fast=False)
    assert (reply["total"], reply["passed"], reply["failures"]) == (2, 2, [])


def test_fuzz_op_of_kernels_runs_them(client):
    config = fuzz_config(dtypes=["float32", "float16"], layouts=["contiguous", "transposed"])
    right = client.ask("FuzzOp", op_name="twice", fuzz_config=config, iterations=10, fail_fast=False)
    assert (right["total"], right["passed"]) == (10, 10), right["failures"][0]["failures"]
    wrong = client.ask("FuzzOp", op_name="tripled", fuzz_config=config, iterations=10, fail_fast=False)
    assert wrong["failed"] >= 8 and wrong["total"] == 10
    for one in wrong["failures"]:
        check_result(one, "tripled", False)
    iterations = [one["repro_info"]["iteration"] for one in wrong["failures"]]
    assert iterations == sorted(iterations)


def test_fuzz_op_never_passes_what_it_cannot_run(client):
    reply = client.ask("FuzzOp", op_name="scale", fuzz_config=fuzz_config(), iterations=3, fail_fast=False)
    check_error(reply, "InvalidRequest", "scale", "client")
    check_error(client.ask("FuzzOp", op_name="nope", fuzz_config=fuzz_config(), iterations=3,
                           fail_fast=False), "OpNotFound", "nope", "twice")


def test_reproduce_runs_a_kernel_again(client):
    made = client.ask("FuzzOp", op_name="tripled", fuzz_config=fuzz_config(41), iterations=3, fail_fast=True)
    seed = made["failures"][0]["seed"]
    reply = client.ask("Reproduce", seed=seed)
    assert reply["type"] == "ReproduceResult" and reply["result"]["seed"] == seed
    check_result(reply["result"], "tripled", False)
    check_tensor(reply["inputs"]["x"])
    assert reply["inputs"] == client.ask("Reproduce", seed=seed)["inputs"]
    check_error(client.ask("Reproduce", seed=4242), "NotFound", "4242")


@pytest.mark.parametrize("strategy", ["BinarySearchDims", "BinarySearchValues"])
def test_minimize_of_a_kernel_case(client, strategy):
    made = client.ask("FuzzOp", op_name="tripled", fuzz_config=fuzz_config(43), iterations=20, fail_fast=False)
    failure = max(made["failures"], key=lambda one: one["repro_info"]["shape"])
    reply = client.ask("Minimize", seed=failure["seed"], strategy=strategy, max_iters=40)
    assert reply["type"] == "MinimizeResult" and reply["original_seed"] == failure["seed"]
    assert integer(reply["minimized_seed"])
    check_result(reply["result"], "tripled", False)
    original = failure["repro_info"]["shape"]
    assert len(reply["minimized_shape"]) == len(original)
    assert all(small <= large for small, large in zip(reply["minimized_shape"], original))
    if strategy == "BinarySearchDims":
        assert reply["minimized_shape"] == [1]


def derive(seed, label):
    """Section 1 of the generator of existing clients."""
    import hashlib
    return int.from_bytes(hashlib.blake2b(struct.pack("<Q", seed) + label.encode(), digest_size=8).digest(),
                          "little")


def test_minimize_of_a_script_case_by_dims(client):
    config = fuzz_config(44, shape_options={"batch_sizes": [2], "seq_lengths": [4], "hidden_dims": [8],
                                            "edge_cases": []})
    made = client.ask("FuzzOp", op_name="off", fuzz_config=config, iterations=1, fail_fast=False)
    seed = made["failures"][0]["seed"]
    reply = client.ask("Minimize", seed=seed, strategy="BinarySearchDims", max_iters=20)
    assert reply["type"] == "MinimizeResult", reply
    assert reply["original_seed"] == seed and reply["minimized_shape"] == [1, 1, 5]
    check_result(reply["result"], "off", False, ["ToleranceExceeded"])
    assert reply["minimized_seed"] == derive(seed, "min_dim_2_5") == reply["result"]["seed"]
    again = client.ask("Reproduce", seed=reply["minimized_seed"])
    check_result(again["result"], "off", False, ["ToleranceExceeded"])
    check_tensor(again["inputs"]["x"], [1, 1, 5])


def test_minimize_of_a_script_case_by_values(client):
    made = client.ask("FuzzOp", op_name="off", fuzz_config=fuzz_config(45), iterations=6, fail_fast=False)
    failure = made["failures"][0]
    reply = client.ask("Minimize", seed=failure["seed"], strategy="BinarySearchValues", max_iters=10)
    assert reply["type"] == "MinimizeResult", reply
    assert reply["minimized_shape"] == failure["repro_info"]["shape"]
    check_result(reply["result"], "off", False, ["ToleranceExceeded"])
    assert reply["result"]["max_diff"] < failure["max_diff"]
    assert reply["minimized_seed"] != failure["seed"]


def test_minimize_of_what_is_not_there(client):
    ask = lambda seed: client.ask("Minimize", seed=seed, strategy="BinarySearchDims", max_iters=5)
    check_error(ask(31337), "NotFound", "31337")
    submit(client, 910, [0, 0, 0, 0])
    check_error(ask(910), "InvalidRequest", "910", "client")


def test_test_cases_are_those_of_the_vectors(client):
    plans = VECTORS["case_plans"]
    checked = 0
    for item in plans["items"]:
        if item["options"] != "small":
            continue
        config = {"seed": int(item["seed"]), "shape_options": VECTORS["shape_option_sets"]["small"],
                  "dtypes": plans["dtypes"], "layouts": plans["layouts"]}
        reply = client.ask("GetTestBatch", op_name="scale", fuzz_config=config, count=len(item["cases"]))
        assert reply["type"] == "TestBatch"
        single = client.ask("GetTestCase", op_name="scale", fuzz_config=config)
        assert single["type"] == "TestCase"
        assert {**reply["cases"][0], "type": "TestCase"} == single
        for made, wanted in zip(reply["cases"], item["cases"], strict=True):
            assert made["seed"] == int(wanted["case_seed"])
            assert made["shape"] == wanted["shape"] and made["dtype"] == wanted["dtype"]
            assert made["layout"] == wanted["layout"]
            check_tensor(made["inputs"]["x"], wanted["shape"])
            assert made["inputs"]["x"]["strides"] == wanted["strides"]
            checked += 1
    assert checked >= 40


def test_schemas_give_every_input_its_shape(client):
    schemas = VECTORS["schema_cases"]
    items = [item for item in schemas["items"] if item["schema"] == "matmul"]
    assert items
    for seed in {item["seed"] for item in items}:
        config = {"seed": int(seed), "dtypes": schemas["dtypes"], "layouts": schemas["layouts"],
                  "shape_options": {"batch_sizes": [], "seq_lengths": [], "hidden_dims": [], "edge_cases": []},
                  "op_schema": VECTORS["schemas"]["matmul"]}
        wanted = {item["iteration"]: item for item in items if item["seed"] == seed}
        reply = client.ask("GetTestBatch", op_name="pair", fuzz_config=config, count=max(wanted) + 1)
        for iteration, item in wanted.items():
            made = reply["cases"][iteration]
            assert made["seed"] == int(item["case_seed"]) and made["shape"] == item["shape"]
            for name, one in item["inputs"].items():
                record = made["inputs"][name]
                assert record["shape"] == one["shape"] and record["strides"] == one["strides"]
                data = base64.b64decode(record["data"]).hex()
                assert data[:32] == one["first_4_elements_hex"][:len(data)]


def test_every_dtype_of_test_cases(client):
    for dtype in sorted(DTYPES):
        config = fuzz_config(dtypes=[dtype])
        reply = client.ask("GetTestCase", op_name="scale", fuzz_config=config)
        assert reply["dtype"] == dtype == reply["inputs"]["x"]["dtype"]
        check_tensor(reply["inputs"]["x"], reply["shape"])


def test_a_default_batch_of_the_python_client_arrives_whole(client):
    """100 cases, tens of MiB: what fuzz_op_client_side asks for."""
    config = fuzz_config(shape_options={"batch_sizes": [1, 2], "seq_lengths": [64, 128],
                                        "hidden_dims": [256, 512], "edge_cases": [[1], [1, 1]]})
    reply = client.ask("GetTestBatch", op_name="scale", fuzz_config=config, count=100)
    assert len(reply["cases"]) == 100


def test_a_ci_run_with_an_unknown_baseline_runs_nothing(client):
    check_error(client.ask("RunCi", quick=True, baseline="none", parallel_jobs=0), "BaselineNotFound", "none")


# --- what is about the daemon itself ------------------------------------------------------------

def test_status_devices_and_configuration_are_those_of_this_daemon(home, client):
    status = client.ask("DaemonStatus")
    assert status["pid"] == home.daemon_pid() and status["socket_path"] == str(home.socket)
    assert status["workers"] > 0 and integer(status["uptime_secs"]) and status["requests_served"] > 0
    assert client.ask("Devices")["devices"] == status["devices"] != []
    shown = client.ask("ConfigShow")
    assert shown["path"] == str(home.project / "gpuemu.toml") == status["config_path"]
    settings = {one["key"]: one for one in shown["settings"]}
    assert settings["project.name"]["value"] == '"clients"' and settings["validation.cases"]["value"] == "4"
    assert settings["ops[1].name"]["value"] == '"positive"'
    assert settings["validation.cases"]["origin"].endswith("gpuemu.toml:5")
    assert settings["validation.check_nan"]["origin"] == "default"


def test_an_edited_configuration_is_served_and_a_wrong_one_is_named(home, client):
    file = home.project / "gpuemu.toml"
    good = file.read_text()
    try:
        file.write_text(good.replace('name = "positive"', 'nmae = "positive"'))
        reply = client.ask("GetTestCase", op_name="scale", fuzz_config=fuzz_config())
        check_error(reply, "ConfigError", "gpuemu.toml", "nmae")
        file.unlink()
        reply = client.ask("GetTestCase", op_name="scale", fuzz_config=fuzz_config())
        check_error(reply, "ConfigError", str(file))
        file.write_text(good.replace('name = "positive"', 'name = "renamed"'))
        reply = client.ask("GetTestCase", op_name="renamed", fuzz_config=fuzz_config())
        assert reply["type"] == "TestCase"
    finally:
        file.write_text(good)
    assert client.ask("GetTestCase", op_name="positive", fuzz_config=fuzz_config())["type"] == "TestCase"


def test_shutdown_answers_and_removes_the_socket(new_home):
    own = new_home(client_project())
    own.start()
    assert own.ask("Shutdown") == {"type": "Ok"}
    deadline = time.monotonic() + 10
    while own.daemon_pid() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert own.daemon_pid() is None and not own.socket.exists()


def test_pynng_speaks_to_the_daemon_too(home):
    pynng = pytest.importorskip("pynng", reason="pynng is not installed: NNG's own client is not tried")
    with pynng.Req0(send_timeout=30_000, recv_timeout=30_000) as request:
        request.dial(f"ipc://{home.socket}", block=True)
        request.send(b'{"type": "Ping"}')
        assert json.loads(request.recv())["protocol_version"] == 1
        request.send(PASSING)
        assert json.loads(request.recv())["result"]["passed"] is True
