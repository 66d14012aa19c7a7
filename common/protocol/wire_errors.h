// Error replies that several parts of the daemon send, and how a client interprets their codes.
#pragma once

#include <string>
#include <utility>

#include "common/base/error.h"
#include "common/base/service_limits.h"
#include "common/protocol/errors.gen.h"

namespace gpuemu {

/// Maps InvalidArgument to InvalidRequest, NotFound to NotFound, Compile to PtxParseError, and all
/// others to InternalError.
WireErrorCode wire_code_of(ErrorCode code);
ErrorReply error_reply(const Error& error);

/// Returns a reply with the code Busy, which asks the client to try again after kBusyRetry.
inline ErrorReply busy_reply(std::string message) {
  ErrorReply reply{WireErrorCode::Busy, std::move(message)};
  reply.retry_after_ms = uint64_t{kBusyRetry.count()};
  return reply;
}

inline ErrorReply session_ended_reply(const std::string& session) {
  return {WireErrorCode::SessionNotFound,
          "session " + session + " has ended; OpenSession opens another"};
}

/// Returns whether the request itself is wrong or names something that does not exist, so that only
/// its author can fix it (exit code 2 of the command line). Otherwise the daemon could not do it
/// (exit code 3).
constexpr bool blames_the_request(WireErrorCode code) {
  switch (code) {
    case WireErrorCode::OpNotFound:
    case WireErrorCode::ConfigError:
    case WireErrorCode::InvalidRequest:
    case WireErrorCode::KernelNotFound:
    case WireErrorCode::NotFound:
    case WireErrorCode::BaselineNotFound:
    case WireErrorCode::ArtifactNotFound:
    case WireErrorCode::ProjectNotFound:
    case WireErrorCode::SessionNotFound:
      return true;
    case WireErrorCode::ReferenceScriptFailed:
    case WireErrorCode::InternalError:
    case WireErrorCode::PtxParseError:
    case WireErrorCode::Busy:
    case WireErrorCode::Damaged:
    case WireErrorCode::Stopped:
    case WireErrorCode::LimitExceeded:
    case WireErrorCode::Unauthorized:
    case WireErrorCode::CuobjdumpNotAvailable:
    case WireErrorCode::VersionMismatch:
      return false;
  }
  return false;
}

}  // namespace gpuemu
