// The functions of the library by the names that programs ask for.
#pragma once

namespace gpuemu::libcuda {

struct CallFound {
  bool is_known = false;     ///< Some version has the name.
  void* function = nullptr;  ///< The newest that is not newer than asked for.
};
CallFound find_call(const char* name, int version, bool per_thread);

/// What every function does that is not there: says so once, and counts.
int unsupported_call(const char* name);

}  // namespace gpuemu::libcuda
