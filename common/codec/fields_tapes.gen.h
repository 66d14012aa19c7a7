// Private to this folder: the members of the records of tapes.def. See fields.h for the words.
// Written by tools/make_protocol.py from tapes.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/protocol/tapes.gen.h"

namespace gpuemu {

template <typename V, Is<TapeAcceptedReply> R>
void fields(V& v, R& r) {
  v.required("first_seq", r.first_seq);
  v.required("last_seq", r.last_seq);
}

template <typename V, Is<TapeStatusReply> R>
void fields(V& v, R& r) {
  v.required("done", r.done);
  v.required("total", r.total);
  v.required("failed", r.failed);
}

template <typename V, Is<TensorReply> R>
void fields(V& v, R& r) {
  v.required("tensor", r.tensor);
}

template <typename V, Is<TraceReply> R>
void fields(V& v, R& r) {
  v.json_text("trace", r.trace_json);
}

template <typename V, Is<SubmitTapeRequest> R>
void fields(V& v, R& r) {
  v.json_text("entries", r.entries_json);
}

template <typename V, Is<TapeStatusRequest> R>
void fields(V& v, R& r) {
  v.extra("wait_ms", r.wait_ms);
}

template <typename V, Is<FetchTensorRequest> R>
void fields(V& v, R& r) {
  v.required("id", r.id);
}

template <typename V, Is<GetTraceRequest> R>
void fields(V& v, R& r) {
  v.extra("session", r.session);
  v.extra("name", r.name);
  v.extra("layers", r.layers);
}

}  // namespace gpuemu
