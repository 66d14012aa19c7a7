"""The records of the protocol, checked member by member: names, JSON types, spelling."""
import base64
import time

from wire_client import values_of

U64 = 2**64 - 1
DTYPES = set("float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
             "bool".split())


def integer(value, lowest=0, highest=U64):
    return type(value) is int and lowest <= value <= highest


def number(value):
    return type(value) in (int, float)


def check_failure(record):
    assert type(record["kind"]) is str and record["kind"]
    assert type(record["message"]) is str and record["message"]
    assert record["index"] is None or integer(record["index"])
    for name in ("expected", "actual"):
        assert record[name] is None or number(record[name]), (name, record)


def check_stats(record):
    for name in ("count", "num_exceeding", "max_ulp"):
        assert integer(record[name]), name
    for name in ("max_abs", "mean_abs", "p50_abs", "p90_abs", "p99_abs", "max_rel", "mean_rel", "mean_ulp"):
        assert record[name] is None or number(record[name]), name


def check_repro(record):
    assert integer(record["seed"]) and record["dtype"] in DTYPES
    assert record["layout"] in ("Contiguous", "Strided", "Transposed")
    assert all(integer(size) for size in record["shape"])
    assert len(record["strides"]) == len(record["shape"])
    assert all(type(stride) is int for stride in record["strides"])
    if record.get("input_snapshot") is not None:
        base64.b64decode(record["input_snapshot"], validate=True)
    assert "fuzz_config" in record


def check_result(record, op, passed, kinds=()):
    assert record["passed"] is passed and record["op_name"] == op
    assert integer(record["seed"]) and integer(record["duration_ms"])
    assert abs(record["timestamp"] - time.time()) < 600 and type(record["timestamp"]) is int
    assert number(record["max_diff"]) and number(record["max_rel_diff"])
    assert (record["failures"] == []) is passed
    for failure in record["failures"]:
        check_failure(failure)
    assert {failure["kind"] for failure in record["failures"]} >= set(kinds)
    if record["error_stats"] is not None:
        check_stats(record["error_stats"])
    if record["repro_info"] is not None:
        check_repro(record["repro_info"])
    return record


def check_error(reply, code, *mentions):
    assert reply["type"] == "Error" and reply["code"] == code, reply
    for text in mentions:
        assert text in reply["message"], reply["message"]


def check_tensor(record, shape=None):
    assert record["dtype"] in DTYPES and len(record["strides"]) == len(record["shape"])
    assert shape is None or record["shape"] == shape
    return values_of(record) if record["dtype"] != "bfloat16" else base64.b64decode(record["data"])


def fuzz_config(seed=5, **changes):
    """As the Python client sends it."""
    config = {"seed": seed,
              "shape_options": {"batch_sizes": [1, 2], "seq_lengths": [3, 4], "hidden_dims": [5, 8],
                                "edge_cases": [[1], [1, 1]]},
              "dtypes": ["float32"], "layouts": ["Contiguous", "Strided"]}
    return {**config, **changes}
