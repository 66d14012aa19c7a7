// Any reply of the daemon. Code that uses a few of them includes the headers of their tables.
#pragma once

#include <string>

#include "common/protocol/any_reply.gen.h"

namespace gpuemu {

/// Any reply. Compiled once, in records.cc, for the same reason as Request.
struct Reply : ReplyVariant {
  using Alternatives = ReplyVariant;

  Reply() noexcept;
  Reply(const Reply&);
  Reply(Reply&&) noexcept;
  Reply& operator=(const Reply&);
  Reply& operator=(Reply&&) noexcept;
  ~Reply();
#define GPUEMU_CONSTRUCTOR(name) Reply(name##Reply reply);
  GPUEMU_REPLIES(GPUEMU_CONSTRUCTOR)
#undef GPUEMU_CONSTRUCTOR
};

/// Return the text of the reply, or of its summary, that says why it is incomplete, or where its
/// kernels ran; null if it has none.
std::string* incomplete_of(Reply& reply);
const std::string* incomplete_of(const Reply& reply);
std::string* execution_of(Reply& reply);
const std::string* execution_of(const Reply& reply);

/// Returns the wire's `type` of the reply: "Pong", "ValidationResult", ...
const char* type_of(const Reply& reply);

}  // namespace gpuemu
