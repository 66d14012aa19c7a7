"""The packers for Python are those of the program's schemas, and pack what the schema says."""
import json
import struct
import subprocess
import sys

from conftest import BIN, ROOT

MADE = ROOT / "python/gpuemu/op_attributes.py"


def listing():
    return subprocess.run([BIN / "gpuemu", "kernels", "--format", "json"], text=True, capture_output=True, check=True).stdout


def test_the_packers_are_those_of_this_program():
    made = subprocess.run([sys.executable, ROOT / "tools/make_op_attributes.py"], input=listing(), text=True,
                          capture_output=True, check=True).stdout
    assert made == MADE.read_text(), ("run `gpuemu kernels --format json | python3 tools/make_op_attributes.py "
                                      "> python/gpuemu/op_attributes.py`")


def test_packers_give_the_schema_and_as_many_bytes_as_it_has():
    packers = {}
    exec(MADE.read_text(), packers)
    checked = 0
    for op in json.loads(listing())["ops"]:
        schema = op["attributes"]
        if not schema["fields"]:
            assert op["name"] not in packers
            continue
        required = [1 for field in schema["fields"] if field["default"] is None]
        number, data = packers[op["name"]](*required)
        assert (number, len(data)) == (schema["schema_id"], schema["bytes"]), op["name"]
        checked += 1
    assert checked >= 2
    assert packers["rmsnorm"](eps=4) == (514, struct.pack("<fd", 4, 0))
