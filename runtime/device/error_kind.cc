#include "runtime/device/error_kind.h"

#include "common/base/check.h"

namespace gpuemu {

ErrorKind kind_of(const Error& failure) {
  switch (failure.code) {
    case ErrorCode::InvalidArgument:
      return ErrorKind::Argument;
    case ErrorCode::Unavailable:
      return ErrorKind::Device;
    case ErrorCode::ResourceExhausted:
      return ErrorKind::OutOfMemory;
    case ErrorCode::Unsupported:
      return ErrorKind::Unsupported;
    case ErrorCode::Launch:
    case ErrorCode::Timeout:
      return ErrorKind::Launch;
    case ErrorCode::Compile:
      return ErrorKind::Compile;
    case ErrorCode::NotFound:
      return ErrorKind::Module;
    case ErrorCode::Corruption:
    case ErrorCode::Io:
    case ErrorCode::Cancelled:
    case ErrorCode::Internal:
      return ErrorKind::Other;
  }
  GPUEMU_UNREACHABLE();
}

std::string_view name_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Argument:
      return "argument";
    case ErrorKind::Device:
      return "device";
    case ErrorKind::OutOfMemory:
      return "out-of-memory";
    case ErrorKind::Unsupported:
      return "unsupported";
    case ErrorKind::Launch:
      return "launch";
    case ErrorKind::Compile:
      return "compile";
    case ErrorKind::Module:
      return "module";
    case ErrorKind::Other:
      return "other";
  }
  GPUEMU_UNREACHABLE();
}

}  // namespace gpuemu
