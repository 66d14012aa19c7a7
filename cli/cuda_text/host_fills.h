// What host code writes to device memory before it launches a kernel: cudaMemset(bins, 0, bytes),
// auto out = torch::zeros({n}).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cli/cuda_text/definitions.h"

namespace gpuemu::cli {

struct HostFill {
  std::string value;      ///< As written.
  bool is_bytes = false;  ///< Each byte has it, as after cudaMemset; else each element.
};

/// The variable that an argument is made of: "bins" of "(void*)bins", "out" of
/// "out.data_ptr<float>()"; "" where there is none.
std::string base_variable(std::string_view argument);

/// Variables that a text without comments fills with one value; the last filling of each counts.
std::map<std::string, HostFill> scan_fills(std::string_view text);

/// The value of each element as gpuemu.toml writes it: "0", "-1", "-inf". Nothing for what is no
/// number, and for bytes that an element of the dtype is not known for.
std::optional<std::string> filled_with(const HostFill& fill, const std::string& dtype,
                                       const Definitions& definitions);

/// Likewise, where a kernel's text alone tells it: "0" for a tensor that atomics add to and nothing
/// else uses, the empty key of a table that atomicCAS fills.
std::optional<std::string> begins_with(const std::string& body, const std::string& tensor,
                                       const std::string& dtype, const Definitions& definitions);

}  // namespace gpuemu::cli
