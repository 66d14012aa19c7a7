// What the daemon answers: the structs of replies.def.
#pragma once

#include "common/base/error.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu {

/// InvalidArgument -> InvalidRequest, NotFound -> NotFound, Compile -> PtxParseError, else
/// InternalError.
WireErrorCode wire_code_of(ErrorCode code);
ErrorReply error_reply(const Error& error);

/// The wire's `type` of the reply: "Pong", "ValidationResult", ...
const char* type_of(const Reply& reply);

}  // namespace gpuemu
