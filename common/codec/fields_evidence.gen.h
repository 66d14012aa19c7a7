// Private to this folder: the members of the records of evidence.def. See fields.h for the words.
// Written by tools/make_protocol.py from evidence.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/codec/fields_records.gen.h"
#include "common/protocol/evidence.gen.h"

namespace gpuemu {

template <typename V, Is<EvidenceRow> R>
void fields(V& v, R& r) {
  v.required("value_strategy", r.value_strategy);
  v.required("trivial", r.trivial);
  v.required("cases", r.cases);
}

template <typename V, Is<EvidenceCounts> R>
void fields(V& v, R& r) {
  v.required("rows", r.rows);
  v.required("exact", r.exact);
  v.required("failed", r.failed);
  v.optional("reached", r.reached);
  v.optional("largest", r.largest);
  v.optional("copies", r.copies);
}

template <typename V, Is<Evidence> R>
void fields(V& v, R& r) {
  v.required("dtype", r.dtype);
  v.required("judged", r.judged);
  v.required("telling", r.telling);
  v.optional("exact", r.exact);
  v.optional("trivial", r.trivial);
  v.optional("strategies", r.strategies);
  v.extra("failure_limit", r.failure_limit);
  v.extra("up_to", r.up_to);
  v.extra("largest", r.largest);
  v.extra("counts", r.counts);
}

template <typename V, Is<CorpusCase> R>
void fields(V& v, R& r) {
  v.required("repro_info", r.repro_info);
  v.extra("number", r.number);
  v.optional("passed", r.passed);
  v.extra("features", r.features);
  v.extra("blocks", r.blocks);
  v.extra("edges", r.edges);
  v.extra("elements", r.elements);
}

template <typename V, Is<SearchFeatures> R>
void fields(V& v, R& r) {
  v.required("cases", r.cases);
  v.required("blocks", r.blocks);
  v.required("edges", r.edges);
}

template <typename V, Is<SearchReport> R>
void fields(V& v, R& r) {
  v.required("replayed", r.replayed);
  v.required("grown", r.grown);
  v.required("corpus", r.corpus);
  v.required("blocks", r.blocks);
  v.required("blocks_total", r.blocks_total);
  v.required("edges", r.edges);
  v.required("edges_total", r.edges_total);
  v.optional("epochs", r.epochs);
  v.optional("corpus_digest", r.corpus_digest);
  v.optional("start_digest", r.start_digest);
  v.extra("features", r.features);
}

template <typename V, Is<CoveredLine> R>
void fields(V& v, R& r) {
  v.required("file", r.file);
  v.required("line", r.line);
  v.required("hits", r.hits);
}

template <typename V, Is<BranchWay> R>
void fields(V& v, R& r) {
  v.required("file", r.file);
  v.required("line", r.line);
  v.required("branch", r.branch);
  v.required("way", r.way);
  v.required("to_line", r.to_line);
  v.required("hits", r.hits);
}

template <typename V, Is<CalibrationRow> R>
void fields(V& v, R& r) {
  v.required("value_strategy", r.value_strategy);
  v.required("cases", r.cases);
  v.required("max_abs", r.max_abs);
  v.required("max_rel", r.max_rel);
  v.required("max_ulp", r.max_ulp);
  v.required("bound_use", r.bound_use);
}

template <typename V, Is<CalibratedDType> R>
void fields(V& v, R& r) {
  v.required("dtype", r.dtype);
  v.required("cases", r.cases);
  v.optional("left_out", r.left_out);
  v.required("atol", r.atol);
  v.required("rtol", r.rtol);
  v.optional("is_exact", r.is_exact);
  v.extra("skipped_reason", r.skipped_reason);
  v.required("rows", r.rows);
  v.extra("state", r.state);
}

template <typename V, Is<FragileCase> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.required("setting", r.setting);
  v.required("message", r.message);
  v.extra("divergence", r.divergence);
}

template <typename V, Is<OpTestReport> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("dtype", r.dtype);
  v.optional("kernel", r.kernel);
  v.required("cases", r.cases);
  v.required("passed", r.passed);
  v.required("failed", r.failed);
  v.extra("skipped_reason", r.skipped_reason);
  v.optional("duration_ms", r.duration_ms);
  v.optional("cases_per_second", r.cases_per_second);
  v.required("failures", r.failures);
  v.diff("max_diff", r.max_diff);
  v.diff("worst_error_use", r.bound_ratio_max);
  v.optional("strategies", r.strategies);
  v.extra("relations", r.relations);
  v.extra("no_reference", r.no_reference);
  v.extra("unjudged", r.unjudged);
  v.extra("notes", r.notes);
  v.extra("warned", r.warned);
  v.extra("warnings", r.warnings);
  v.extra("proof", r.evidence);
  v.extra("fragile", r.fragile);
  v.extra("fragile_checked", r.fragile_checked);
  v.extra("reference_failed", r.reference_failed);
  v.extra("not_run", r.not_run);
  v.extra("state", r.state);
  v.extra("guess", r.guess);
}

template <typename V, Is<JobLine> R>
void fields(V& v, R& r) {
  v.required("kind", r.kind);
  v.required("text", r.text);
  v.extra("done", r.done);
  v.extra("total", r.total);
}

template <typename V, Is<JobEvent> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.extra("dtype", r.dtype);
  v.extra("failure", r.failure);
  v.extra("report", r.report);
}

}  // namespace gpuemu
