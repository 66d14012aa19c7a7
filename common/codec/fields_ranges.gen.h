// Private to this folder: the members of the records of ranges.def. See fields.h for the words.
// Written by tools/make_protocol.py from ranges.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/codec/fields_evidence.gen.h"
#include "common/codec/fields_records.gen.h"
#include "common/protocol/ranges.gen.h"

namespace gpuemu {

template <typename V, Is<CorpusReply> R>
void fields(V& v, R& r) {
  v.required("entries", r.entries);
}

template <typename V, Is<FuzzFinishedReply> R>
void fields(V& v, R& r) {
  v.required("failures", r.failures);
  v.optional("warnings", r.warnings);
  v.optional("proofs", r.evidence);
  v.optional("notes", r.notes);
  v.extra("corpus", r.corpus);
  v.extra("corpus_digest", r.corpus_digest);
  v.extra("start_digest", r.start_digest);
}

template <typename V, Is<GetCorpusRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
}

template <typename V, Is<StoreResultsRequest> R>
void fields(V& v, R& r) {
  v.required("results", r.results);
}

template <typename V, Is<FinishFuzzRequest> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("failures", r.failures);
  v.extra("warnings", r.warnings);
  v.extra("proofs", r.evidence);
  v.extra("reports", r.reports);
  v.extra("start", r.start);
  v.extra("found", r.found);
  v.extra("keep", r.keep);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<FinishTestsRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.required("reports", r.reports);
  v.extra("cancelled", r.cancelled);
  v.extra("max_elements", r.max_elements);
  v.extra("strict", r.strict);
  v.extra("stream", r.stream);
  v.extra("lease_ms", r.lease_ms);
}

}  // namespace gpuemu
