// Private to this folder: the members of the records of errors.def. See fields.h for the words.
// Written by tools/make_protocol.py from errors.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/protocol/errors.gen.h"

namespace gpuemu {

template <typename V, Is<ErrorReply> R>
void fields(V& v, R& r) {
  v.required("code", r.code);
  v.required("message", r.message);
  v.extra("retry_after_ms", r.retry_after_ms);
}

}  // namespace gpuemu
