"""Tests that every request of the protocol has a method of the client, and every error code an exception."""

import inspect
import json
import pathlib

import numpy as np
import pytest

pytest.importorskip("pynng")
import gpuemu  # noqa: E402
from gpuemu import errors  # noqa: E402
from gpuemu.client import artifacts  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTOCOL = json.loads((ROOT / "docs/reference/protocol.json").read_text())
# A worker sends the first, gpuemu.cluster the others.
OF_OTHERS = {"WorkerRegister", "GetCorpus", "StoreResults", "FinishFuzz", "FinishTests"}
REQUESTS = {name: one for name, one in PROTOCOL["requests"].items() if name not in OF_OTHERS}
X = np.ones(2, np.float32)
# Arguments for each method, to see what it sends.
CALLS = {
    "ping": (), "status": (), "devices": (), "settings": (), "shutdown": (), "list_artifacts": (), "list_baselines": (), "get_ci_summary": (),
    "list_results": (), "list_failures": (), "run_tests": (), "run_ci": (), "inspect_kernels": (), "validate_op": ("o", {"x": X}, X),
    "submit_output": ("o", {"x": X}, X, 1), "get_result": (1,), "delete_failures": (1,), "store_baseline": ("t",), "store_failure": (1, "o", [gpuemu.Finding("DataRace", "m")], "/f"), "compare_baseline": ("t",),
    "fuzz_op": ("o",), "reproduce": (1,), "minimize": (1,), "explain": (1,), "get_case": ("o", 1), "export_case": (1,),
    "compare_kernels": ("a.ptx", "b.ptx"), "kernel_coverage": ("k",), "calibrate": ("o",), "mutate": ("o",), "prove": ("o",),
    "store_artifact": (artifacts.ArtifactMetrics("k"),), "get_artifact": ("k",), "store_artifact_baseline": ("t",),
    "diff_artifact_baseline": ("t",), "get_baseline": ("t",), "delete_baseline": ("t",), "lint_kernel": ("",), "get_test_case": ("o",),
    "get_test_batch": ("o",), "job_status": (1,), "cancel_job": (1,), "projects": (), "set_default_project": (),
    "move_project": ("0", "/a/gpuemu.toml"), "forget_project": ("0",), "claim_storage": (),
    "storage_status": (), "prune_storage": (), "verify_storage": (), "back_up_storage": ("/b",), "compact_storage": (),
    "submit_tape": ([],), "tape_status": (), "fetch_tensor": ("t",), "trace": (),
    "open_session": ("s",), "close_session": ("s",), "set_session": ("s",), "sessions": (), "top": (), "jobs": (),
}  # fmt: skip
# Methods that do not belong to a single request.
WITHOUT = {"close", "request", "fuzz_op_client_side", "use_session",
           "print_input_tape", "print_output_queue", "print_handles", "print_tick_trace", "save_debug_trace"}  # fmt: skip


class Told:
    """A connection that records what is sent and answers only with errors."""

    capabilities = frozenset({"jobs"})
    session = None

    def __init__(self):
        self.sent = []

    def open(self):
        pass

    close = open

    def ask(self, request):
        self.sent.append(request["type"])
        told = {one["name"] for one in REQUESTS[request["type"]]["members"]}
        assert set(request) - {"type"} <= told, f"{request['type']} has members that the protocol does not know"
        return {"type": "Error", "code": "NotFound", "message": "nothing is here"}


def test_every_request_of_the_protocol_is_sent_by_a_method():
    sent = set()
    for name, arguments in CALLS.items():
        client = gpuemu.Client("/nowhere")
        client.connection = Told()
        if name == "get_result":
            assert client.get_result(*arguments) is None
        else:
            with pytest.raises(gpuemu.NotFoundError, match="nothing is here"):
                getattr(client, name)(*arguments)
        assert len(client.connection.sent) == 1, name
        sent.update(client.connection.sent)
    missing = set(REQUESTS) - sent
    assert not missing, f"requests without a method of gpuemu.Client (and a line of CALLS here): {sorted(missing)}"
    assert sent == set(REQUESTS)
    methods = {name for name, one in inspect.getmembers(gpuemu.Client, inspect.isfunction) if not name.startswith("_")}
    assert methods == set(CALLS) | WITHOUT


def test_every_call_expects_the_reply_of_the_protocol():
    told = []

    class Notes(Told):
        capabilities = frozenset()  # No jobs.

        def ask(self, request):
            told.append(request["type"])
            return {"type": "Nonsense"}

    for name, arguments in CALLS.items():
        client = gpuemu.Client("/nowhere")
        client.connection = Notes()
        with pytest.raises(gpuemu.ProtocolError) as wrong:
            getattr(client, name)(*arguments)
        assert str(wrong.value).endswith(f"not {REQUESTS[told[-1]]['reply']}"), (name, wrong.value)


def test_every_error_code_has_a_class_of_its_own():
    codes = set(PROTOCOL["enums"]["WireErrorCode"])
    kinds = {code: type(errors.of_reply(code, "told")) for code in codes}
    assert len(set(kinds.values())) == len(codes) and gpuemu.ClientError not in kinds.values()
    for code, kind in kinds.items():
        made = errors.of_reply(code, "told")
        assert made.code == code and str(made) == "told" and getattr(gpuemu, kind.__name__) is kind and kind.__doc__
    newer = errors.of_reply("SomethingNew", "told")
    assert type(newer) is gpuemu.ClientError and newer.code == "SomethingNew"


def test_limits_of_a_run_are_sent():
    sent = {}

    class Keeps(Told):
        capabilities = frozenset()

        def ask(self, request):
            sent[request["type"]] = request
            return super().ask(request)

    client = gpuemu.Client("/nowhere")
    client.connection = Keeps()
    for call in (lambda: client.run_tests(strict=True, max_elements=1000), lambda: client.fuzz_op("o", max_elements=2000),
                 lambda: client.run_ci(max_elements=3000)):  # fmt: skip
        with pytest.raises(gpuemu.NotFoundError):
            call()
    assert sent["RunTests"]["strict"] is True and sent["RunTests"]["max_elements"] == 1000 and "fragile" not in sent["RunTests"]
    assert sent["FuzzOp"]["max_elements"] == 2000 and "config" in sent["FuzzOp"] and "fuzz_config" not in sent["FuzzOp"]
    assert sent["RunCi"]["max_elements"] == 3000
    with pytest.raises(gpuemu.NotFoundError):
        client.fuzz_op("o", first_case=0, corpus=[], guided=True)
    assert sent["FuzzOp"]["first_case"] == 0 and sent["FuzzOp"]["corpus"] == [] and "max_elements" not in sent["FuzzOp"]
    with pytest.raises(ValueError, match=r"sizes \(batch_sizes\) and max_elements exclude each other"):
        client.fuzz_op("o", batch_sizes=[1], max_elements=10)
