// Private to this folder: the members of the records of replies.def. See fields.h for the words.
// Written by tools/make_protocol.py from replies.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/codec/fields_artifacts.gen.h"
#include "common/codec/fields_ci.gen.h"
#include "common/codec/fields_daemon.gen.h"
#include "common/codec/fields_errors.gen.h"
#include "common/codec/fields_evidence.gen.h"
#include "common/codec/fields_kernel_records.gen.h"
#include "common/codec/fields_ranges.gen.h"
#include "common/codec/fields_records.gen.h"
#include "common/codec/fields_sessions.gen.h"
#include "common/codec/fields_storage.gen.h"
#include "common/codec/fields_tapes.gen.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu {

template <typename V, Is<TestCase> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.required("inputs", r.inputs);
  v.required("shape", r.shape);
  v.required("dtype", r.dtype);
  v.lower_case("layout", r.layout);
}

template <typename V, Is<BaselineInfo> R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
  v.required("results", r.results);
  v.required("artifacts", r.artifacts);
  v.extra("project", r.project);
  v.extra("user", r.user);
}

template <typename V, Is<PongReply> R>
void fields(V& v, R& r) {
  v.required("version", r.version);
  v.required("protocol_version", r.protocol_version);
  v.required("uptime_secs", r.uptime_secs);
  v.optional("uptime_seconds", r.uptime_secs);
  v.optional("capabilities", r.capabilities);
  v.optional("backend", r.backend);
  v.optional("devices", r.devices);
}

template <typename V, Is<OkReply> R>
void fields(V&, R&) {}

template <typename V, Is<ValidationResultReply> R>
void fields(V& v, R& r) {
  v.required("result", r.result);
}

template <typename V, Is<SubmitResultReply> R>
void fields(V& v, R& r) {
  v.required("result", r.result);
}

template <typename V, Is<ResultsReply> R>
void fields(V& v, R& r) {
  v.required("results", r.results);
}

template <typename V, Is<BaselineComparisonReply> R>
void fields(V& v, R& r) {
  v.required("baseline_tag", r.baseline_tag);
  v.required("comparisons", r.comparisons);
  v.required("has_regressions", r.has_regressions);
  v.extra("unmatched", r.unmatched);
  v.extra("baseline_unmatched", r.baseline_unmatched);
}

template <typename V, Is<FuzzResultsReply> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.required("total", r.total);
  v.required("passed", r.passed);
  v.required("failed", r.failed);
  v.required("failures", r.failures);
  v.extra("proofs", r.evidence);
  v.extra("search", r.search);
  v.extra("error", r.error);
  v.extra("notes", r.notes);
  v.extra("incomplete", r.incomplete);
  v.extra("cases_complete", r.cases_complete);
  v.extra("warned", r.warned);
  v.extra("warnings", r.warnings);
  v.extra("results", r.results);
  v.extra("reports", r.reports);
  v.extra("execution", r.execution);
}

template <typename V, Is<ReproduceResultReply> R>
void fields(V& v, R& r) {
  v.required("result", r.result);
  v.required("inputs", r.inputs);
  v.extra("profile", r.profile);
  v.extra("printed", r.printed);
  v.optional("rerun", r.rerun);
  v.extra("error_map", r.error_map);
  v.extra("ptx", r.ptx);
  v.extra("launches", r.launches);
  v.extra("guess", r.guess);
}

template <typename V, Is<MinimizeResultReply> R>
void fields(V& v, R& r) {
  v.required("original_seed", r.original_seed);
  v.required("minimized_seed", r.minimized_seed);
  v.required("minimized_shape", r.minimized_shape);
  v.required("result", r.result);
  v.extra("original_shape", r.original_shape);
  v.extra("original_dims", r.original_dims);
  v.extra("minimized_dims", r.minimized_dims);
  v.extra("trials", r.trials);
  v.extra("simplified", r.simplified);
  v.extra("input_elements", r.input_elements);
  v.extra("nonzero_elements", r.nonzero_elements);
  v.extra("notes", r.notes);
  v.extra("guess", r.guess);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
  v.extra("execution", r.execution);
}

template <typename V, Is<LintResultsReply> R>
void fields(V& v, R& r) {
  v.required("results", r.results);
  v.extra("missing_tools", r.missing_tools);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
}

template <typename V, Is<CiRunCompleteReply> R>
void fields(V& v, R& r) {
  fields(v, r.summary);
}

template <typename V, Is<TestCaseReply> R>
void fields(V& v, R& r) {
  fields(v, r.test_case);
}

template <typename V, Is<TestBatchReply> R>
void fields(V& v, R& r) {
  v.required("cases", r.cases);
}

template <typename V, Is<TestReportReply> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.optional("backend", r.backend);
  v.optional("device", r.device);
  v.required("total", r.total);
  v.required("passed", r.passed);
  v.required("failed", r.failed);
  v.required("skipped", r.skipped);
  v.required("duration_ms", r.duration_ms);
  v.required("ops", r.ops);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
  v.extra("results", r.results);
  v.extra("execution", r.execution);
}

template <typename V, Is<JobStartedReply> R>
void fields(V& v, R& r) {
  v.required("job_id", r.job_id);
}

template <typename V, Is<JobStatusReply> R>
void fields(V& v, R& r) {
  v.required("job_id", r.job_id);
  v.required("state", r.state);
  v.required("done", r.done);
  v.required("total", r.total);
  v.required("failures", r.failures);
  v.optional("rate", r.rate);
  v.optional("seconds_left", r.seconds_left);
  v.extra("code", r.code);
  v.optional("log", r.log);
  v.extra("events", r.events);
  v.extra("lines", r.lines);
  v.json_text("result", r.result_json);
}

template <typename V, Is<DevicesReply> R>
void fields(V& v, R& r) {
  v.required("devices", r.devices);
  v.extra("remote_workers", r.remote_workers);
}

template <typename V, Is<ConfigShowReply> R>
void fields(V& v, R& r) {
  v.optional("path", r.path);
  v.required("settings", r.settings);
}

template <typename V, Is<DaemonStatusReply> R>
void fields(V& v, R& r) {
  v.required("version", r.version);
  v.optional("backend", r.backend);
  v.optional("socket_path", r.socket_path);
  v.optional("config_path", r.config_path);
  v.optional("storage_path", r.storage_path);
  v.optional("pid", r.pid);
  v.optional("uptime_secs", r.uptime_secs);
  v.optional("workers", r.workers);
  v.optional("jobs_running", r.jobs_running);
  v.optional("requests_served", r.requests_served);
  v.optional("devices", r.devices);
  v.extra("start_settings", r.start_settings);
  v.extra("build", r.build);
  v.optional("projects", r.projects);
  v.extra("notes", r.notes);
  v.extra("damage", r.damage);
  v.extra("remote_workers", r.remote_workers);
  v.extra("execution", r.execution);
}

template <typename V, Is<CaseReply> R>
void fields(V& v, R& r) {
  v.json_text("case", r.case_json);
  v.required("inputs", r.inputs);
}

template <typename V, Is<BaselineListReply> R>
void fields(V& v, R& r) {
  v.required("baselines", r.baselines);
}

template <typename V, Is<BaselineReply> R>
void fields(V& v, R& r) {
  v.required("schema_version", r.schema_version);
  v.required("tag", r.tag);
  v.required("results", r.results);
  v.required("artifacts", r.artifacts);
}

template <typename V, Is<KernelCoverageReply> R>
void fields(V& v, R& r) {
  v.required("kernel", r.kernel);
  v.required("ops", r.ops);
  v.required("seed", r.seed);
  v.required("cases", r.cases);
  v.required("failed", r.failed);
  v.required("replayed", r.replayed);
  v.required("lines", r.lines);
  v.required("branches", r.branches);
  v.required("blocks", r.blocks);
  v.required("blocks_total", r.blocks_total);
  v.required("edges", r.edges);
  v.required("edges_total", r.edges_total);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
  v.extra("execution", r.execution);
}

template <typename V, Is<CalibrationReply> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.optional("kernel", r.kernel);
  v.required("seed", r.seed);
  v.optional("backend", r.backend);
  v.optional("device", r.device);
  v.required("dtypes", r.dtypes);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
  v.extra("execution", r.execution);
}

template <typename V, Is<ExportedCaseReply> R>
void fields(V& v, R& r) {
  v.required("result", r.result);
  v.required("version", r.version);
  v.required("arch", r.arch);
  v.required("kernel", r.kernel);
  v.required("ptx", r.ptx);
  v.required("sources", r.sources);
  v.required("source", r.source);
  v.required("tensors", r.tensors);
  v.required("launches", r.launches);
  v.required("inputs", r.inputs);
  v.required("expected", r.expected);
  v.required("bounds", r.bounds);
  v.required("nan_policy", r.nan_policy);
}

template <typename V, Is<MutationReportReply> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("kernel", r.kernel);
  v.required("dtype", r.dtype);
  v.required("seed", r.seed);
  v.required("cases", r.cases);
  v.required("found", r.found);
  v.required("total", r.total);
  v.required("killed", r.killed);
  v.required("survived", r.survived);
  v.required("equivalent", r.equivalent);
  v.required("invalid", r.invalid);
  v.required("not_run", r.not_run);
  v.optional("score", r.score);
  v.required("mutants", r.mutants);
  v.required("duration_ms", r.duration_ms);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
  v.extra("execution", r.execution);
}

template <typename V, Is<KernelComparisonReply> R>
void fields(V& v, R& r) {
  v.required("before", r.before);
  v.required("after", r.after);
  v.required("verdict", r.verdict);
  v.required("entries", r.entries);
}

template <typename V, Is<FailuresDeletedReply> R>
void fields(V& v, R& r) {
  v.required("count", r.count);
}

template <typename V, Is<ExplainResultReply> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.required("op_name", r.op_name);
  v.required("kernel", r.kernel);
  v.required("verdict", r.verdict);
  v.required("sentences", r.sentences);
  v.required("output", r.output);
  v.required("index", r.index);
  v.required("computed", r.computed);
  v.required("exact", r.exact);
  v.required("reference", r.reference);
  v.required("tolerance", r.tolerance);
  v.required("bound", r.bound);
  v.required("outputs", r.outputs);
  v.extra("divergence", r.divergence);
  v.required("slice", r.slice);
  v.required("other_decisions", r.other_decisions);
  v.extra("first_other_decision", r.first_other_decision);
  v.required("complete", r.complete);
  v.extra("guess", r.guess);
  v.extra("vote", r.disagreement);
}

template <typename V, Is<BoundsReportReply> R>
void fields(V& v, R& r) {
  v.required("launches", r.launches);
  v.required("total", r.total);
  v.required("proved", r.proved);
  v.required("duration_ms", r.duration_ms);
  v.extra("incomplete", r.incomplete);
  v.extra("error", r.error);
}

template <typename V, Is<ProjectsReply> R>
void fields(V& v, R& r) {
  v.required("default", r.default_id);
  v.required("projects", r.projects);
}

}  // namespace gpuemu
