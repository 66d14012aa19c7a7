// Private to this folder: the members of the records of explain. See fields.h for the words.
#pragma once

#include "common/protocol/explain.h"
#include "common/protocol/fields.h"

namespace gpuemu {

template <typename V, Is<ExplainRequest> R>
void fields(V& v, R& r) {
  v.required("seed", r.seed);
  v.extra("op_name", r.op_name);
  v.extra("output", r.output);
  v.extra("index", r.index);
}

template <typename V, Is<ExplainedValue> R>
void fields(V& v, R& r) {
  v.extra("name", r.name);
  v.required("computed", r.computed);
  v.required("exact", r.exact);
  v.required("bound", r.bound);
}

template <typename V, Is<ExplainedStep> R>
void fields(V& v, R& r) {
  v.required("kind", r.kind);
  v.required("instruction", r.instruction);
  v.required("file", r.file);
  v.required("line", r.line);
  v.required("ptx_line", r.ptx_line);
  v.required("block", r.block);
  v.required("thread", r.thread);
  v.required("visit", r.visit);
  v.required("count", r.count);
  v.required("result", r.result);
  v.required("operands", r.operands);
}

template <typename V, Is<ExplainedOutput> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("elements", r.elements);
  v.required("wrong", r.wrong);
  v.required("logic", r.logic);
  v.required("numerical", r.numerical);
  v.required("rounding", r.rounding);
}

template <typename V, Is<VoteSide> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("value", r.value);
}

template <typename V, Is<Vote> R>
void fields(V& v, R& r) {
  v.required("alone", r.alone);
  v.required("sentence", r.sentence);
  v.required("sides", r.sides);
}

template <typename V, Is<Diagnosis> R>
void fields(V& v, R& r) {
  v.required("verdict", r.verdict);
  v.required("note", r.note);
  v.extra("divergence", r.divergence);
  v.extra("vote", r.vote);
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
  v.extra("vote", r.vote);
}

}  // namespace gpuemu
