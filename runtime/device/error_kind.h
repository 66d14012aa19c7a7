// What an error of a device means for who called it: one taxonomy over the error codes.
#pragma once

#include <string_view>

#include "common/base/error.h"

namespace gpuemu {

enum class ErrorKind {
  Argument,     ///< The call is wrong: repair it.
  Device,       ///< The device is lost: replace the process that owns it.
  OutOfMemory,  ///< Free something, or ask for less.
  Unsupported,  ///< This device or build cannot: choose another.
  Launch,       ///< A kernel faulted, or did not end in time.
  Compile,      ///< The source or PTX does not compile.
  Module,       ///< No such module, or no such entry in it.
  Other,        ///< Not of a device.
};

ErrorKind kind_of(const Error& failure);
/// "out-of-memory"
std::string_view name_of(ErrorKind kind);

}  // namespace gpuemu
