// Finds what host code writes to device memory before it launches a kernel: cudaMemset(bins, 0,
// bytes), auto out = torch::zeros({n}).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

struct HostFill {
  std::string value;      ///< As written.
  bool is_bytes = false;  ///< Whether it is the value of each byte, as for cudaMemset, rather than
                          ///< of each element.
};

/// Returns the variable that an argument is derived from: "bins" for "(void*)bins", "out" for
/// "out.data_ptr<float>()"; "" if there is none.
std::string base_variable(std::string_view argument);

/// Returns the variables that a text without comments fills with one value; the last fill of each
/// counts.
std::map<std::string, HostFill> scan_fills(std::string_view text);

/// Returns the value of each element as gpuemu.toml writes it: "0", "-1", "-inf". Returns nothing
/// if it is no number, or if bytes give no known element of the dtype.
std::optional<std::string> filled_with(const HostFill& fill, const std::string& dtype,
                                       const Definitions& definitions);

/// Like filled_with(), judged only by the kernel's text: "0" for a tensor that is only used by
/// atomics that add, or the empty key of a table that atomicCAS fills.
std::optional<std::string> begins_with(const std::string& body, const std::string& tensor,
                                       const std::string& dtype, const Definitions& definitions);

}  // namespace gpuemu::cli
