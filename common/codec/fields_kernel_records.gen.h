// Private to this folder: the members of the records of kernel_records.def. See fields.h for the
// words.
// Written by tools/make_protocol.py from kernel_records.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/protocol/kernel_records.gen.h"

namespace gpuemu {

template <typename V, Is<ExportedTensor> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("role", r.role);
  v.required("dtype", r.dtype);
  v.required("shape", r.shape);
  v.required("strides", r.strides);
  v.required("storage_elements", r.storage_elements);
  v.extra("first_element", r.first_element);
  v.extra("base_offset_bytes", r.base_offset_bytes);
  v.extra("edge", r.edge);
  v.extra("nan_policy", r.nan_policy);
}

template <typename V, Is<ExportedArg> R>
void fields(V& v, R& r) {
  v.required("text", r.text);
  v.extra("tensor", r.tensor);
  v.extra("bytes", r.bytes);
  v.extra("offset_bytes", r.offset_bytes);
}

template <typename V, Is<ExportedLaunch> R>
void fields(V& v, R& r) {
  v.required("entry", r.entry);
  v.required("grid", r.grid);
  v.required("block", r.block);
  v.extra("cluster", r.cluster);
  v.required("shared_bytes", r.shared_bytes);
  v.required("args", r.args);
}

template <typename V, Is<MutantReport> R>
void fields(V& v, R& r) {
  v.required("id", r.id);
  v.required("mutation", r.mutation);
  v.required("entry", r.entry);
  v.extra("file", r.file);
  v.extra("line", r.line);
  v.required("ptx_line", r.ptx_line);
  v.required("before", r.before);
  v.required("after", r.after);
  v.required("status", r.status);
  v.required("cases", r.cases);
  v.extra("killed_by", r.killed_by);
  v.extra("killing_strategy", r.killing_strategy);
  v.extra("killing_shape_strategy", r.killing_shape_strategy);
  v.extra("killing_dims", r.killing_dims);
  v.extra("reason", r.reason);
}

template <typename V, Is<KernelDifference> R>
void fields(V& v, R& r) {
  v.required("kind", r.kind);
  v.required("text", r.text);
  v.extra("before_line", r.before_line);
  v.extra("after_line", r.after_line);
  v.extra("before_source", r.before_source);
  v.extra("after_source", r.after_source);
}

template <typename V, Is<EntryDifference> R>
void fields(V& v, R& r) {
  v.required("entry", r.entry);
  v.required("verdict", r.verdict);
  v.required("opcodes", r.opcodes);
  v.required("differences", r.differences);
  v.extra("left_out", r.left_out);
}

template <typename V, Is<ProvedAccess> R>
void fields(V& v, R& r) {
  v.required("kind", r.kind);
  v.required("space", r.space);
  v.extra("tensor", r.tensor);
  v.extra("file", r.file);
  v.extra("line", r.line);
  v.required("ptx_line", r.ptx_line);
  v.required("instruction", r.instruction);
  v.required("proved", r.proved);
  v.extra("reason", r.reason);
  v.extra("offset", r.offset);
  v.extra("extent", r.extent);
}

template <typename V, Is<LaunchBounds> R>
void fields(V& v, R& r) {
  v.required("op_name", r.op_name);
  v.required("kernel", r.kernel);
  v.required("dtype", r.dtype);
  v.required("launch", r.launch);
  v.required("entry", r.entry);
  v.extra("error", r.error);
  v.required("accesses", r.accesses);
}

}  // namespace gpuemu
