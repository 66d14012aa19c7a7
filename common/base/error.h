// What an operation that did not work says: a code for programs, one sentence for people.
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

namespace gpuemu {

enum class ErrorCode {
  InvalidArgument,    ///< The caller's data is wrong: a request, a file, an argument.
  NotFound,           ///< The named thing does not exist.
  Corruption,         ///< Stored or received bytes that we could not have written.
  Unsupported,        ///< A legal request that this build or this device cannot serve.
  Unavailable,        ///< A process, device or file is not there now; later it may be.
  Timeout,            ///< A limit in time or in instructions ran out.
  ResourceExhausted,  ///< Memory, disk or a named limit ran out.
  Io,                 ///< The operating system refused a read, write or socket call.
  Compile,            ///< A source or a PTX text does not compile.
  Launch,             ///< A kernel faulted while it ran.
  Cancelled,          ///< Somebody asked to stop.
  Internal,           ///< Our own fault.
};

/// The enumerator's own spelling.
const char* name_of(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  ///< Lower case, no full stop; actual, expected, remedy.

  /// "context: message", the same code.
  Error with_context(const std::string& context) const { return {code, context + ": " + message}; }
};

/// error(ErrorCode::NotFound, "no result with seed {}", seed)
template <typename... Args>
Error error(ErrorCode code, fmt::format_string<Args...> text, Args&&... args) {
  return {code, fmt::format(text, std::forward<Args>(args)...)};
}

}  // namespace gpuemu
