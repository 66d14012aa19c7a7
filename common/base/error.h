// The error of an operation that failed: a code for programs, and a sentence for people.
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace gpuemu {

enum class ErrorCode {
  InvalidArgument,    ///< The caller's data is wrong: a request, file or argument.
  NotFound,           ///< The named thing does not exist.
  Corruption,         ///< Stored or received bytes that gpuemu cannot have written.
  Unsupported,        ///< A valid request that this build or device cannot serve.
  Unavailable,        ///< A process, device or file is not available now, but may be later.
  Timeout,            ///< A limit in time or instructions was exceeded.
  ResourceExhausted,  ///< Memory, disk or a named limit was exhausted.
  Io,                 ///< The operating system refused a read, write or socket call.
  Compile,            ///< A source or a PTX text does not compile.
  Launch,             ///< A kernel faulted while it ran.
  Cancelled,          ///< The operation was cancelled.
  Internal,           ///< A bug in gpuemu.
};

/// Returns the enumerator's name.
const char* name_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  ///< Lower case, no full stop: actual value, expected value, remedy.

  /// Returns "context: message" with the same code.
  Error with_context(const std::string& context) const { return {code, context + ": " + message}; }
};

/// Formats the message outside of the template, so that a call compiles to little code.
Error format_error(ErrorCode code, fmt::string_view text, fmt::format_args args);

/// Example: error(ErrorCode::NotFound, "no result with seed {}", seed)
template <typename... Args>
Error error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return format_error(code, text, fmt::make_format_args(args...));
}

}  // namespace gpuemu
