"""The requests about kernels, metrics, baselines and CI, from Python against the real daemon."""
import asyncio

import numpy as np
import pytest

from projects import SCALE_PTX, THREE, TWO, client_project

pytest.importorskip("pynng")
gpuemu = pytest.importorskip("gpuemu")


@pytest.fixture(scope="module")
def home(new_home):
    files = client_project()
    files["before.ptx"], files["after.ptx"] = SCALE_PTX.replace("FACTOR", TWO), SCALE_PTX.replace("FACTOR", THREE)
    instance = new_home(files)
    instance.start()
    return instance


@pytest.fixture
def client(home):
    with gpuemu.Client(str(home.socket), timeout_ms=120000) as connected:
        yield connected


@pytest.fixture(scope="module")
def failure(home):
    """A stored failure of the kernel that multiplies by three where its reference doubles."""
    with gpuemu.Client(str(home.socket)) as client:
        return client.run_tests(["tripled"], cases=2, seed=11, dtypes=["float32"]).ops[0].failures[0]


def test_a_failure_is_explained_shown_and_exported(client, failure):
    told = client.explain(failure.seed, "tripled")
    assert isinstance(told, gpuemu.replies.ExplainResult) and told.verdict == "logic" and told.sentences
    assert told.computed == pytest.approx(1.5 * told.reference) and told.outputs[0].wrong == told.outputs[0].elements
    assert {"load", "compute"} <= {step.kind for step in told.slice} and all(len(step.thread) == 3 for step in told.slice)
    other = client.explain(failure.seed, output="y", index=told.outputs[0].elements - 1)
    assert other.index == told.outputs[0].elements - 1
    with pytest.raises(gpuemu.NotFoundError):
        client.explain(1)
    with pytest.raises(gpuemu.InvalidRequestError, match="."):
        client.explain(failure.seed, index=10**6)

    inputs = client.reproduce(failure.seed, "tripled").inputs
    kept, exported = client.get_case("tripled", failure.seed), client.export_case(failure.seed, "tripled")
    for found in (kept.inputs, exported.inputs):
        assert found.keys() == {"x"} and found["x"].tobytes() == inputs["x"].tobytes() and found["x"].dtype == np.float32
    assert kept.case.seed == failure.seed and kept.case.repro_info.dims == failure.repro_info.dims
    np.testing.assert_array_equal(exported.expected["y"], 2 * inputs["x"].astype(np.float64))
    (launch,) = exported.launches
    assert launch.entry == "scale" and int.from_bytes(launch.args[2].bytes, "little") == inputs["x"].size and launch.args[0].tensor == "x"
    assert {one.name: one.role for one in exported.tensors} == {"x": "input", "y": "output"} and ".entry scale" in exported.ptx


def test_the_names_of_the_first_programs_run(client, failure):
    from gpuemu.validate import GpuemuClient, fuzz_op, reproduce

    assert GpuemuClient is gpuemu.Client
    found = fuzz_op(client, "twice", iterations=3, seed=5, dtypes=["float32"])
    assert found.total == 3 and found.failed == 0
    again = reproduce(client, failure.seed, "tripled")
    assert again.result.seed == failure.seed and not again.result.passed


def test_kernels_are_covered_calibrated_mutated_and_compared(client, home):
    seen = []
    covered = client.kernel_coverage("twice", cases=3, seed=5, progress=seen.append)
    assert covered.ops == ["twice"] and covered.cases - covered.replayed == 3 and covered.failed == 0 and seen[-1].state == "done"
    assert 0 < covered.blocks <= covered.blocks_total and any(line.hits for line in covered.lines) and covered.branches
    measured = client.calibrate("twice", cases=4, seed=5)
    assert [(one.dtype, one.is_exact) for one in measured.dtypes] == [("float32", True)] and measured.dtypes[0].rows
    tolerance = gpuemu.calibrate_tolerance(client, "twice", "float32", 4)
    assert (tolerance.atol, tolerance.rtol) == (measured.dtypes[0].atol, measured.dtypes[0].rtol)
    with pytest.raises(ValueError, match="int64"):
        gpuemu.calibrate_tolerance(client, "twice", dtype="int64", iterations=4)
    with pytest.raises(gpuemu.OpNotFoundError):
        gpuemu.calibrate_tolerance(client=client, op="abacus")
    report = client.mutate("twice", cases=4, seed=5, mutants_max=3)
    assert report.total == len(report.mutants) == 3 and report.found >= 3 and all(one.mutation and one.before for one in report.mutants)
    assert report.killed + report.survived + report.equivalent + report.invalid + report.not_run == 3
    with pytest.raises(gpuemu.InvalidRequestError):
        client.mutate("tripled", cases=2, seed=5)
    bounds = client.prove("twice")
    assert 0 < bounds.proved <= bounds.total and bounds.launches[0].entry == "scale" and bounds.launches[0].accesses[0].instruction
    with pytest.raises(gpuemu.NotFoundError):
        client.prove("twice", kernel="nothing")
    compared = client.compare_kernels(str(home.project / "before.ptx"), str(home.project / "after.ptx"))
    assert compared.verdict == "constant" and compared.entries[0].differences[0].kind == "constant"
    guided = client.fuzz_op("twice", seed=3, iterations=8, guided=True)
    assert guided.total >= 8 and guided.search["blocks"] == guided.search["blocks_total"]
    with pytest.raises(ValueError, match="guided exclude each other"):
        client.fuzz_op("twice", batch_sizes=[1], guided=True)


def test_metrics_are_measured_stored_and_compared(client):
    (found,) = client.inspect_kernels(["twice"])
    assert found.passed and found.metrics.ptx.entry == "scale" and found.metrics.ptx.params[0].type == "u64"
    assert client.get_artifact("twice").instruction_count == found.metrics.instruction_count > 0
    client.store_artifact_baseline("then", ["twice"])
    metrics = client.get_artifact("twice")
    metrics.register_count, metrics.compiled = metrics.register_count + 1, []  # What ptxas says would decide.
    client.store_artifact(metrics)
    assert client.get_artifact("twice").register_count == metrics.register_count
    assert "twice" in [one.kernel_name for one in client.list_artifacts()]
    now = client.diff_artifact_baseline("then", ["twice"])
    assert now.has_regressions and now.diffs[0].register_delta == 1 and now.diffs[0].baseline.kernel_name == "twice"
    client.store_baseline("then")
    assert [(one.tag, one.artifacts) for one in client.list_baselines()] == [("then", 1)]
    kept = client.get_baseline("then")
    assert kept.artifacts[0].register_count == metrics.register_count - 1 and len(kept.results) == client.list_baselines()[0].results
    assert client.compare_baseline("then", same_cases=True).unmatched == 0
    client.delete_baseline("then")
    for wrong, kind in ((lambda: client.get_baseline("then"), gpuemu.BaselineNotFoundError), (lambda: client.get_artifact("no"), gpuemu.ArtifactNotFoundError),
                        (lambda: client.inspect_kernels(["no"]), gpuemu.KernelNotFoundError)):  # fmt: skip
        with pytest.raises(kind):
            wrong()


def test_a_ci_run_is_summed_up(client):
    summary = client.run_ci("quick", seed=7, shard=1, shards=1)
    by_op = {one.op_name: one for one in summary.ops}
    assert by_op["twice"].failed == 0 < by_op["twice"].cases and by_op["tripled"].failed > 0 and summary.seed == 7
    assert {one.kernel_name for one in summary.lint_results} >= {"twice"} and summary.worst.op_name
    assert client.get_ci_summary().total_tests == summary.total_tests and isinstance(summary.broken, list)
    with pytest.raises(ValueError, match="unknown profile 'slow'; there are quick, default, thorough"):
        client.run_ci("slow")


def test_a_job_is_asked_for_by_its_number(client):
    job = client.request("RunTests", ops=["twice"], cases=2, seed=7, stream=True)["job_id"]
    status = client.job_status(job, wait_ms=10000)
    assert status.job_id == job and status.state in ("running", "done")
    with pytest.raises(gpuemu.NotFoundError):
        client.job_status(10**6)


def test_asyncio_has_the_same_answers(home, failure):
    async def main():
        async with gpuemu.AsyncClient(str(home.socket), 120000) as client:
            return await asyncio.gather(client.explain(failure.seed, "tripled"), client.kernel_coverage("twice", cases=2, seed=5),
                                        client.inspect_kernels(["twice"]), client.list_baselines())

    told, covered, lint, baselines = asyncio.run(main())
    assert told.verdict == "logic" and covered.cases - covered.replayed == 2 and lint[0].kernel_name == "twice" and isinstance(baselines, list)
