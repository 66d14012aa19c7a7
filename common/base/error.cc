// Names of the error codes, and formatted messages.
#include "common/base/error.h"

#include "common/base/check.h"

namespace gpuemu {

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "InvalidArgument";
    case ErrorCode::NotFound:
      return "NotFound";
    case ErrorCode::Corruption:
      return "Corruption";
    case ErrorCode::Unsupported:
      return "Unsupported";
    case ErrorCode::Unavailable:
      return "Unavailable";
    case ErrorCode::Timeout:
      return "Timeout";
    case ErrorCode::ResourceExhausted:
      return "ResourceExhausted";
    case ErrorCode::Io:
      return "Io";
    case ErrorCode::Compile:
      return "Compile";
    case ErrorCode::Launch:
      return "Launch";
    case ErrorCode::Cancelled:
      return "Cancelled";
    case ErrorCode::Internal:
      return "Internal";
  }
  GPUEMU_UNREACHABLE();
}

Error format_error(ErrorCode code, fmt::string_view text, fmt::format_args args) {
  return {code, fmt::vformat(text, args)};
}

}  // namespace gpuemu
