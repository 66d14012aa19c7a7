// How a client interprets the code of an Error reply.
#pragma once

#include "common/protocol/replies.h"

namespace gpuemu {

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
