// What -default-device lets pass and nvcc refuses: device code that uses functions and variables
// without __device__.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::compile {

/// A function or variable that the source does not mark for the device.
struct Unmarked {
  std::string file;  ///< As the log spells it.
  uint32_t line = 0;
  std::string name;
  bool is_variable = false, is_constexpr = false;
  bool operator==(const Unmarked&) const = default;
};

/// Functions that NVRTC complains of where it compiles without -default-device. Nothing where the
/// log does not have all of them.
std::optional<std::vector<Unmarked>> unmarked_in(std::string_view log);

/// Selects the functions that device code uses: when it runs, by the PTX of the source with
/// -default-device and -G, in which every call is one; and `constexpr` functions while it is
/// compiled, by `texts`, the source and its headers.
Result<std::vector<Unmarked>> used_by_device_code(const std::string& debug_ptx,
                                                  const std::vector<std::string_view>& texts,
                                                  const std::vector<Unmarked>& unmarked);

/// Returns a warning that names the first few of them; null: some functions, unknown which.
std::string about_unmarked(const std::vector<Unmarked>* used, const std::string& source);

}  // namespace gpuemu::compile
