// Private to this folder: the members of every request. See fields.h for the words.
#pragma once

#include "common/protocol/fields.h"
#include "common/protocol/fields_artifacts.h"
#include "common/protocol/fields_explain.h"
#include "common/protocol/requests.h"
#include "common/protocol/shared_data.h"

namespace gpuemu {

template <typename V, Is<SharedData> R>
void fields(V& v, R& r) {
  v.required("process", r.process);
  v.required("descriptor", r.descriptor);
  v.required("name", r.name);
  v.required("offset", r.offset);
  v.required("bytes", r.bytes);
}

/// Requests that consist of their `type` alone.
template <typename R>
concept EmptyRequest =
    Is<R, PingRequest> || Is<R, ShutdownRequest> || Is<R, ListArtifactsRequest> ||
    Is<R, GetCiSummaryRequest> || Is<R, DevicesRequest> || Is<R, ConfigShowRequest> ||
    Is<R, DaemonStatusRequest> || Is<R, ListBaselinesRequest>;
template <typename R>
concept TagRequest = Is<R, StoreBaselineRequest> || Is<R, CompareBaselineRequest> ||
                     Is<R, StoreArtifactBaselineRequest> || Is<R, DiffArtifactBaselineRequest> ||
                     Is<R, GetBaselineRequest> || Is<R, DeleteBaselineRequest>;
template <typename R>
concept ListRequest = Is<R, ListResultsRequest> || Is<R, ListFailuresRequest>;
template <typename R>
concept SeedRequest =
    Is<R, GetResultRequest> || Is<R, ReproduceRequest> || Is<R, ExportCaseRequest>;

template <typename V, EmptyRequest R>
void fields(V&, R&) {}

template <typename V, TagRequest R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
  if constexpr (Is<R, CompareBaselineRequest> || Is<R, DiffArtifactBaselineRequest>) {
    v.extra("baseline", r.baseline);
  }
  if constexpr (Is<R, CompareBaselineRequest>) v.extra("same_cases", r.same_cases);
  if constexpr (Is<R, StoreArtifactBaselineRequest> || Is<R, DiffArtifactBaselineRequest>) {
    v.extra("kernels", r.kernels);
  }
}

template <typename V, ListRequest R>
void fields(V& v, R& r) {
  v.required("limit", r.limit);
  v.extra("op_name", r.op_name);
}

template <typename V, SeedRequest R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.extra("op_name", r.op_name);
  if constexpr (Is<R, ReproduceRequest>) {
    v.extra("profile", r.profile);
    v.extra("stream", r.stream);
    v.extra("lease_ms", r.lease_ms);
  }
}

template <typename V, Is<ValidateOpRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("inputs", r.inputs);
  v.required("output", r.output);
  v.optional("kwargs", r.kwargs);
  v.extra("atol", r.atol);
  v.extra("rtol", r.rtol);
}

template <typename V, Is<SubmitOutputRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("inputs", r.inputs);
  v.required("output", r.output);
  v.required("seed", r.seed);
  v.optional("kwargs", r.kwargs);
  v.extra("atol", r.atol);
  v.extra("rtol", r.rtol);
}

template <typename V, Is<OwnFuzzConfig> R>
void fields(V& v, R& r) {
  v.extra("iterations", r.iterations);
  v.extra("min_shape", r.min_shape);
  v.extra("max_shape", r.max_shape);
  v.extra("dtypes", r.dtypes);
  v.extra("layouts", r.layouts);
  v.extra("strategies", r.strategies);
  v.extra("seed", r.seed);
}

/// Which of the two forms is there, and what each requires, is checked after this list.
template <typename V, Is<FuzzOpRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.extra("fuzz_config", r.fuzz_config);
  v.extra("config", r.config);
  if (r.config) {
    v.optional("iterations", r.iterations);
    v.optional("fail_fast", r.fail_fast);
  } else {
    v.required("iterations", r.iterations);
    v.required("fail_fast", r.fail_fast);
  }
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
  v.extra("guided", r.guided);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
}

template <typename V, Is<MinimizeRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.required("strategy", r.strategy);
  v.required("max_iters", r.max_iters);
  v.extra("op_name", r.op_name);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<LintKernelRequest> R>
void fields(V& v, R& r) {
  v.optional("kernel_name", r.kernel_name);
  v.required("ptx_content", r.ptx_content);
}

template <typename V, Is<StoreArtifactRequest> R>
void fields(V& v, R& r) {
  v.optional("kernel_name", r.kernel_name);
  v.required("metrics", r.metrics);
}

template <typename V, Is<GetArtifactRequest> R>
void fields(V& v, R& r) {
  v.required("kernel_name", r.kernel_name);
}

template <typename V, Is<RunCiRequest> R>
void fields(V& v, R& r) {
  v.required("quick", r.quick);
  v.optional("baseline", r.baseline);
  v.required("parallel_jobs", r.parallel_jobs);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
  v.extra("profile", r.profile);
  v.extra("seed", r.seed);
  v.extra("budget_ms", r.budget_ms);
  v.extra("shard", r.shard);
  v.extra("shards", r.shards);
  v.extra("cached", r.cached);
  v.extra("coverage", r.coverage);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
  v.extra("snapshots", r.snapshots);
  v.extra("baseline_artifacts", r.baseline_artifacts);
  v.extra("baseline_results", r.baseline_results);
}

template <typename V, Is<GetTestCaseRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("fuzz_config", r.fuzz_config);
}

template <typename V, Is<GetTestBatchRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("fuzz_config", r.fuzz_config);
  v.required("count", r.count);
}

template <typename V, Is<RunTestsRequest> R>
void fields(V& v, R& r) {
  v.optional("ops", r.ops);
  v.optional("dtypes", r.dtypes);
  v.optional("cases", r.cases);
  v.optional("seed", r.seed);
  v.optional("strategies", r.strategies);
  v.optional("fail_fast", r.fail_fast);
  v.extra("fragile", r.fragile);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<KernelCoverageRequest> R>
void fields(V& v, R& r) {
  v.required("kernel", r.kernel);
  v.extra("cases", r.cases);
  v.extra("seed", r.seed);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<CalibrateRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.extra("dtypes", r.dtypes);
  v.extra("cases", r.cases);
  v.extra("seed", r.seed);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<InspectRequest> R>
void fields(V& v, R& r) {
  v.extra("files", r.files);
  v.extra("kernels", r.kernels);
  v.extra("archs", r.archs);
  v.extra("threads", r.threads);
  v.extra("dynamic_shared_bytes", r.dynamic_shared_bytes);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<JobStatusRequest> R>
void fields(V& v, R& r) {
  v.required("job_id", r.job_id);
  v.extra("log_from", r.log_from);
  v.extra("wait_ms", r.wait_ms);
  v.extra("lease_ms", r.lease_ms);
  v.extra("events_from", r.events_from);
}

template <typename V, Is<JobCancelRequest> R>
void fields(V& v, R& r) {
  v.required("job_id", r.job_id);
}

template <typename V, Is<DeleteFailuresRequest> R>
void fields(V& v, R& r) {
  v.extra("seed", r.seed);
  v.extra("op_name", r.op_name);
  v.extra("all", r.all);
}

template <typename V, Is<GetCaseRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("seed", r.seed);
}

template <typename V, Is<MutateRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.extra("kernel", r.kernel);
  v.extra("dtype", r.dtype);
  v.extra("cases", r.cases);
  v.extra("seed", r.seed);
  v.extra("mutants_max", r.mutants_max);
  v.extra("budget_ms", r.budget_ms);
  v.extra("mutations", r.mutations);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<CompareKernelsRequest> R>
void fields(V& v, R& r) {
  v.required("before", r.before);
  v.required("after", r.after);
  v.extra("arch", r.arch);
}

template <typename V, Is<ProveRequest> R>
void fields(V& v, R& r) {
  v.extra("op_name", r.op_name);
  v.extra("kernel", r.kernel);
  v.extra("dtype", r.dtype);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

}  // namespace gpuemu
