// The reply that says why a request was not answered.
// Written by tools/make_protocol.py from errors.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuemu {

enum class WireErrorCode {
  OpNotFound,
  ReferenceScriptFailed,
  InvalidRequest,
  InternalError,
  NotFound,
  ConfigError,
  KernelNotFound,
  ArtifactNotFound,
  BaselineNotFound,
  PtxParseError,
  ProjectNotFound,
  Busy,
  Damaged,
  Stopped,
  SessionNotFound,
  LimitExceeded,
  Unauthorized,
  CuobjdumpNotAvailable,
  VersionMismatch,
};
inline constexpr WireErrorCode kLastWireErrorCode = WireErrorCode::VersionMismatch;
/// The name on the wire, and back.
const char* name_of(WireErrorCode value);
std::optional<WireErrorCode> wire_error_code_from_name(const std::string& name);

struct ErrorReply {
  WireErrorCode code = WireErrorCode::InternalError;
  std::string message;
  uint64_t retry_after_ms = 0;  ///< Busy: when sending it again may help.
  bool operator==(const ErrorReply&) const = default;
};

}  // namespace gpuemu
