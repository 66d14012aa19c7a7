// Classifies the errors of a device by what the caller can do about them.
#pragma once

#include <string_view>

#include "common/base/error.h"

namespace gpuemu {

enum class ErrorKind {
  Argument,     ///< The call is wrong; correct it.
  Device,       ///< The device is lost; replace the process that owns it.
  OutOfMemory,  ///< Free memory, or request less.
  Unsupported,  ///< This device or build cannot do it; choose another.
  Launch,       ///< A kernel faulted or ran into its timeout.
  Compile,      ///< The source or PTX does not compile.
  Module,       ///< The module, or an entry in it, does not exist.
  Other,        ///< Not an error of a device.
};

ErrorKind kind_of(const Error& failure);
/// Returns for example "out-of-memory".
std::string_view name_of(ErrorKind kind);

}  // namespace gpuemu
