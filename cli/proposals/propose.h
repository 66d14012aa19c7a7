// From what is known of a kernel to a launch that can be tried: which parameter is what, sizes,
// grid.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/cuda_text/host_launch.h"
#include "cli/cuda_text/source_scan.h"
#include "common/protocol/artifacts.h"

namespace gpuemu::cli {

enum class ParamRole { Input, Output, InOut, Dim, Attr, Null };

struct ProposedParam {
  std::string name;  ///< As gpuemu.toml has it: no word of Python or of its expressions.
  ParamRole role = ParamRole::Input;
  std::string dtype;         ///< Dtype of a tensor or an attr: "float32", "{dtype}".
  std::string tag;           ///< Tag of a scalar: "i32".
  std::string written = {};  ///< Its name in the source.
  bool is_const = false;     ///< A pointer to const.
  uint32_t lanes = 1;        ///< Elements of `dtype` in one of the pointer's: 4 of float4.
  /// The parameter's name, for a member of a structure that is passed by value. Its members follow
  /// each other.
  std::string group = {};
  std::vector<std::string> shape = {};  ///< Expressions; empty where nothing is known.
  std::string range = {};               ///< Range of a tensor that holds indices: "[0, 63]".
  std::string values = {};              ///< Values of an attr: "[0.5, 0.25]".
  std::string init = {};   ///< What each element holds before the launch: "0"; "": nothing known.
  bool any_order = false;  ///< Its elements have no order.
  bool scratch = false;    ///< Memory between blocks, which nobody compares.
  bool distinct = false;   ///< No index comes twice: what it chooses is written.
  bool sorted = false;     ///< It ascends: where each row begins.
};

/// Whether the kernel gets a tensor through it; the others are sizes, numbers and attributes.
inline bool is_tensor(const ProposedParam& param) {
  return param.role == ParamRole::Input || param.role == ParamRole::Output ||
         param.role == ParamRole::InOut;
}

/// Whether it is an integer, or a tensor of integers.
inline bool is_integer(const ProposedParam& param) {
  return param.dtype.starts_with("int") || param.dtype.starts_with("uint");
}

/// One way of launching it, the likeliest first.
struct ProposedLaunch {
  std::vector<std::string> grid, block;
  std::string shared = {};  ///< Bytes of dynamic shared memory; "" where the kernel names none.
  std::vector<std::string> grid_dims = {};  ///< Sizes that only the grid tells the kernel.
  /// Sizes that host code computes from others: "query_stride" -> "num_heads * head_size".
  std::map<std::string, std::string> follows = {};
  std::string origin = {};  ///< Where it was read, "" where it was guessed.
  int64_t each = 1;         ///< Elements of a row that a thread takes at once.
};

/// A __constant__ variable that host code sets: it gets the elements of an input of its own.
struct ProposedSymbol {
  std::string variable, input;  ///< As the source and as gpuemu.toml name it.
  std::string dtype;
  uint64_t elements = 0;
};

struct ProposedKernel {
  std::string name, source;  ///< `source` relative to the project.
  std::string entry;         ///< As a launch writes it: "scale", "softmax<{ctype}>".
  std::vector<ProposedParam> params;
  std::vector<ProposedSymbol> symbols = {};
  std::vector<ProposedLaunch> launches = {};  ///< Candidates; the first one is written.
  std::vector<std::string> dtypes =
      {};  ///< Dtypes that host code instantiates; empty: the default.
  std::map<std::string, std::string> sizes = {};  ///< Dim -> "[1, 300]", where it is known.
  /// Sizes that follow from dims: "row_stride" -> "heads * head_size".
  std::map<std::string, std::string> follows = {};
  /// What its text computes from sizes alone: "(h - k) / s + 1".
  std::vector<std::string> computed = {};
  std::string require = {};             ///< What holds for its sizes together: "n % k == 0".
  std::string accumulate = {};          ///< Length of the longest sum, "" for none.
  bool deterministic = true;            ///< No atomics on floats.
  std::vector<std::string> notes = {};  ///< What is to be looked at, for the file.
  std::string guess = {};               ///< Why no trial settled it; "" where one did.
  std::string body = {};                ///< Text of the function, without comments.

  const ProposedLaunch& launch() const { return launches.front(); }
  /// Dims of the grid come first. Dims that follow from others are left out.
  std::vector<std::string> dims() const;
};

/// The parameter of this name in the source; null where there is none.
const ProposedParam* param_written(const ProposedKernel& kernel, const std::string& name);

/// What surrounds the kernels of a source.
struct SourceContext {
  Definitions definitions;
  std::vector<HostLaunch> launches;
};

/// From the text of a CUDA source, one for each instance that host code launches; none for
/// parameters that gpuemu.toml cannot pass. `why` says which.
std::vector<ProposedKernel> propose(const SourceKernel& kernel, const SourceContext& context,
                                    const std::string& source, std::string& why);
/// From the entry of a PTX text, whose parameters have sizes but no names.
std::optional<ProposedKernel> propose(const PtxMetrics& entry, const std::string& source,
                                      std::string& why);

/// Letters, digits and underscores, as names in gpuemu.toml may be; with an underscore behind it
/// where Python or an expression would read it as something else.
std::string legal_name(const std::string& text);

}  // namespace gpuemu::cli
