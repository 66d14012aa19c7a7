// From what is known of a kernel to a launch that can be tried: which parameter is what, sizes,
// grid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/scaffold/source_scan.h"
#include "common/protocol/artifacts.h"

namespace gpuemu::cli {

enum class ParamRole { Input, Output, InOut, Dim, Attr, Null };

struct ProposedParam {
  std::string name;
  ParamRole role = ParamRole::Input;
  std::string dtype;  ///< Dtype of a tensor or an attr: "float32", "{dtype}".
  std::string tag;    ///< Tag of a scalar: "i32".
};

struct ProposedKernel {
  std::string name, source;  ///< `source` relative to the project.
  std::string entry;         ///< As a launch writes it: "scale", "softmax<{ctype}>".
  std::vector<ProposedParam> params;
  std::vector<std::string> grid, block;
  std::string shared;  ///< Bytes of dynamic shared memory; "" where the kernel names none.
  std::vector<std::string> grid_dims;     ///< Sizes that only the grid tells the kernel.
  std::vector<std::string> dims() const;  ///< Dims of the grid come first.
};

/// From the text of a CUDA source; nothing for parameters that gpuemu.toml cannot pass (structs)
/// and for templates over more than one type. `why` says which.
std::optional<ProposedKernel> propose(const SourceKernel& kernel, const std::string& source,
                                      std::string& why);
/// From the entry of a PTX text, whose parameters have sizes but no names.
std::optional<ProposedKernel> propose(const PtxMetrics& entry, const std::string& source,
                                      std::string& why);

/// Letters, digits and underscores, as names in gpuemu.toml may be.
std::string legal_name(const std::string& text);

}  // namespace gpuemu::cli
