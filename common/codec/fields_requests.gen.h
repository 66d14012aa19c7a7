// Private to this folder: the members of the records of requests.def. See fields.h for the words.
// Written by tools/make_protocol.py from requests.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/base/limits.h"
#include "common/base/service_limits.h"
#include "common/codec/fields.h"
#include "common/codec/fields_artifacts.gen.h"
#include "common/codec/fields_daemon.gen.h"
#include "common/codec/fields_evidence.gen.h"
#include "common/codec/fields_ranges.gen.h"
#include "common/codec/fields_records.gen.h"
#include "common/codec/fields_sessions.gen.h"
#include "common/codec/fields_storage.gen.h"
#include "common/codec/fields_tapes.gen.h"
#include "common/protocol/requests.gen.h"

namespace gpuemu {

template <typename V, Is<PingRequest> R>
void fields(V&, R&) {}

template <typename V, Is<ShutdownRequest> R>
void fields(V&, R&) {}

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

template <typename V, Is<GetResultRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.extra("op_name", r.op_name);
}

template <typename V, Is<ListResultsRequest> R>
void fields(V& v, R& r) {
  v.required("limit", r.limit);
  v.extra("op_name", r.op_name);
}

template <typename V, Is<ListFailuresRequest> R>
void fields(V& v, R& r) {
  v.required("limit", r.limit);
  v.extra("op_name", r.op_name);
}

template <typename V, Is<StoreFailureRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.required("op_name", r.op_name);
  v.required("failures", r.failures);
  v.required("program_folder", r.program_folder);
}

template <typename V, Is<StoreBaselineRequest> R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
}

template <typename V, Is<CompareBaselineRequest> R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
  v.extra("baseline", r.baseline);
  v.extra("same_cases", r.same_cases);
}

template <typename V, Is<FuzzOpRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.extra("fuzz_config", r.fuzz_config);
  v.extra("config", r.config);
  if (r.config) {
    v.optional("iterations", r.iterations);
  } else {
    v.required("iterations", r.iterations);
  }
  v.at_most("iterations", r.iterations, kIterationsMax);
  if (r.config) {
    v.optional("fail_fast", r.fail_fast);
  } else {
    v.required("fail_fast", r.fail_fast);
  }
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
  v.extra("guided", r.guided);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
  v.extra("first_case", r.first_case);
  v.at_most("first_case", r.first_case, kIterationsMax);
  v.extra("corpus", r.corpus);
  v.extra("results", r.results);
}

template <typename V, Is<ReproduceRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.extra("op_name", r.op_name);
  v.extra("profile", r.profile);
  v.extra("details", r.details);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
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

template <typename V, Is<RunCiRequest> R>
void fields(V& v, R& r) {
  v.required("quick", r.quick);
  v.optional("baseline", r.baseline);
  v.required("parallel_jobs", r.parallel_jobs);
  v.at_most("parallel_jobs", r.parallel_jobs, kWorkersMax);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
  v.extra("profile", r.profile);
  v.extra("seed", r.seed);
  v.extra("budget_ms", r.budget_ms);
  v.at_most("budget_ms", r.budget_ms, kBudgetMsMax);
  v.extra("shard", r.shard);
  v.extra("shards", r.shards);
  v.at_most("shards", r.shards, kShardsMax);
  v.extra("cached", r.cached);
  v.extra("coverage", r.coverage);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
  v.extra("snapshots", r.snapshots);
  v.extra("baseline_artifacts", r.baseline_artifacts);
  v.extra("baseline_results", r.baseline_results);
}

template <typename V, Is<GetCiSummaryRequest> R>
void fields(V&, R&) {}

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
  v.at_most("count", r.count, kBatchCasesMax);
}

template <typename V, Is<RunTestsRequest> R>
void fields(V& v, R& r) {
  v.optional("ops", r.ops);
  v.optional("dtypes", r.dtypes);
  v.optional("cases", r.cases);
  v.at_most("cases", r.cases, kIterationsMax);
  v.optional("seed", r.seed);
  v.optional("strategies", r.strategies);
  v.optional("fail_fast", r.fail_fast);
  v.extra("fragile", r.fragile);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
  v.extra("first_case", r.first_case);
  v.at_most("first_case", r.first_case, kIterationsMax);
  v.extra("results", r.results);
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
  v.extra("lines_from", r.lines_from);
}

template <typename V, Is<JobCancelRequest> R>
void fields(V& v, R& r) {
  v.required("job_id", r.job_id);
}

template <typename V, Is<DevicesRequest> R>
void fields(V&, R&) {}

template <typename V, Is<ConfigShowRequest> R>
void fields(V&, R&) {}

template <typename V, Is<DaemonStatusRequest> R>
void fields(V&, R&) {}

template <typename V, Is<GetCaseRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("seed", r.seed);
}

template <typename V, Is<InspectRequest> R>
void fields(V& v, R& r) {
  v.extra("files", r.files);
  v.at_most("files", r.files, kInspectFilesMax);
  v.extra("kernels", r.kernels);
  v.extra("archs", r.archs);
  v.at_most("archs", r.archs, kInspectArchsMax);
  v.extra("threads", r.threads);
  v.extra("dynamic_shared_bytes", r.dynamic_shared_bytes);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<ListBaselinesRequest> R>
void fields(V&, R&) {}

template <typename V, Is<GetBaselineRequest> R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
}

template <typename V, Is<DeleteBaselineRequest> R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
}

template <typename V, Is<KernelCoverageRequest> R>
void fields(V& v, R& r) {
  v.required("kernel", r.kernel);
  v.extra("cases", r.cases);
  v.at_most("cases", r.cases, kIterationsMax);
  v.extra("seed", r.seed);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<CalibrateRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.extra("dtypes", r.dtypes);
  v.extra("cases", r.cases);
  v.at_most("cases", r.cases, kIterationsMax);
  v.extra("seed", r.seed);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<ExportCaseRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.extra("op_name", r.op_name);
}

template <typename V, Is<MutateRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.extra("kernel", r.kernel);
  v.extra("dtype", r.dtype);
  v.extra("cases", r.cases);
  v.at_most("cases", r.cases, kIterationsMax);
  v.extra("seed", r.seed);
  v.extra("mutants_max", r.mutants_max);
  v.extra("budget_ms", r.budget_ms);
  v.at_most("budget_ms", r.budget_ms, kTimeoutMsMax);
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

template <typename V, Is<DeleteFailuresRequest> R>
void fields(V& v, R& r) {
  v.extra("seed", r.seed);
  v.extra("op_name", r.op_name);
  v.extra("all", r.all);
}

template <typename V, Is<ExplainRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.extra("op_name", r.op_name);
  v.extra("output", r.output);
  v.extra("index", r.index);
}

template <typename V, Is<ProveRequest> R>
void fields(V& v, R& r) {
  v.extra("op_name", r.op_name);
  v.extra("kernel", r.kernel);
  v.extra("dtype", r.dtype);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<ProjectsRequest> R>
void fields(V&, R&) {}

template <typename V, Is<SetDefaultProjectRequest> R>
void fields(V&, R&) {}

template <typename V, Is<MoveProjectRequest> R>
void fields(V& v, R& r) {
  v.required("old", r.old);
  v.required("new", r.new_path);
}

template <typename V, Is<ForgetProjectRequest> R>
void fields(V& v, R& r) {
  v.required("id", r.id);
}

}  // namespace gpuemu
