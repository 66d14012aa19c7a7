// Finds the functions of this library by name and version.
#pragma once

namespace gpuemu::libcuda {

struct CallFound {
  bool is_known = false;     ///< The driver API has the name in some version.
  void* function = nullptr;  ///< Null when every version of it is newer than the one asked for.
};
/// Finds the newest version of `name` that is not newer than `version`. With `per_thread` a
/// function that takes a stream is the variant for the per-thread default stream. Thread-safe.
CallFound find_call(const char* name, int version, bool per_thread);

}  // namespace gpuemu::libcuda
