// Private to this folder: the members of the records of proof.h. See fields.h for the words.
#pragma once

#include "common/protocol/fields.h"
#include "common/protocol/proof.h"

namespace gpuemu {

template <typename V, Is<Proof> R>
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
}

}  // namespace gpuemu
