// Proposes a launch that can be tried, from what is known of a kernel: the role of each parameter,
// sizes, grid.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/cuda_text/host_launch.h"
#include "cli/cuda_text/source_scan.h"
#include "common/protocol/artifacts.gen.h"

namespace gpuemu::cli {

enum class ParamRole { Input, Output, InOut, Dim, Attr, Null };

struct ProposedParam {
  std::string name;  ///< Its name in gpuemu.toml: no reserved word of Python or of its expressions.
  ParamRole role = ParamRole::Input;
  std::string dtype;         ///< Dtype of a tensor or an attr: "float32", "{dtype}".
  std::string tag;           ///< Tag of a scalar: "i32".
  std::string written = {};  ///< Its name in the source.
  bool is_const = false;     ///< A pointer to const.
  uint32_t lanes = 1;        ///< Elements of `dtype` in one element of the pointer: 4 for float4.
  /// The parameter's name, for a member of a structure passed by value. Its members are adjacent.
  std::string group = {};
  std::vector<std::string> shape = {};  ///< Expressions; empty if unknown.
  std::string range = {};               ///< Range of a tensor that holds indices: "[0, 63]".
  std::string values = {};              ///< Values of an attr: "[0.5, 0.25]".
  std::string init = {};                ///< Each element before the launch: "0"; "" if unknown.
  bool any_order = false;               ///< Its elements have no order.
  bool scratch = false;   ///< Memory for communication between blocks, which is not compared.
  bool distinct = false;  ///< No index occurs twice, because the selected elements are written.
  bool sorted = false;    ///< It ascends, like the begins of rows.
};

/// Returns whether the kernel gets a tensor through it; the others are sizes, numbers and
/// attributes.
inline bool is_tensor(const ProposedParam& param) {
  return param.role == ParamRole::Input || param.role == ParamRole::Output ||
         param.role == ParamRole::InOut;
}

/// Returns whether it is an integer, or a tensor of integers.
inline bool is_integer(const ProposedParam& param) {
  return param.dtype.starts_with("int") || param.dtype.starts_with("uint");
}

/// A way to launch it; the most likely one is first.
struct ProposedLaunch {
  std::vector<std::string> grid, block;
  std::string shared = {};  ///< Bytes of dynamic shared memory; "" if the kernel uses none.
  std::vector<std::string> grid_dims = {};  ///< Sizes that the kernel learns only from the grid.
  /// Sizes that host code computes from others: "query_stride" -> "num_heads * head_size".
  std::map<std::string, std::string> follows = {};
  std::string origin = {};  ///< Where it was read; "" if it was guessed.
  int64_t each = 1;         ///< Elements of a row that a thread handles at once.
};

/// A __constant__ variable that host code sets: it gets the elements of a separate input.
struct ProposedSymbol {
  std::string variable, input;  ///< Its name in the source, and its input in gpuemu.toml.
  std::string dtype;
  uint64_t elements = 0;
};

struct ProposedKernel {
  std::string name, source;  ///< `source` relative to the project.
  std::string entry;         ///< As in a launch: "scale", "softmax<{ctype}>".
  std::vector<ProposedParam> params;
  std::vector<ProposedSymbol> symbols = {};
  std::vector<ProposedLaunch> launches = {};  ///< Candidates; the first one is written.
  std::vector<std::string> dtypes =
      {};  ///< Dtypes that host code instantiates; empty: the default.
  std::map<std::string, std::string> sizes = {};  ///< Dim -> "[1, 300]", if known.
  /// Sizes computed from dims: "row_stride" -> "heads * head_size".
  std::map<std::string, std::string> follows = {};
  /// Expressions that its text computes from sizes alone: "(h - k) / s + 1".
  std::vector<std::string> computed = {};
  /// Shapes that index expressions show, by tensor; see index_shapes().
  std::map<std::string, std::vector<std::string>> index_shapes = {};
  /// Sizes that host code checks to be multiples of the block, for which it passes such a number,
  /// and of which it launches others, rounded up to whole blocks: with the place of the launch.
  std::map<std::string, std::string> whole_blocks = {}, sample_blocks = {}, rounded_up = {};
  std::string require = {};              ///< A condition for its sizes together: "n % k == 0".
  std::string accumulate = {};           ///< Length of the longest sum, "" for none.
  bool deterministic = true;             ///< No atomics on floats.
  std::vector<std::string> notes = {};   ///< What the user should check, written to the file.
  std::string guess = {};                ///< Why no trial succeeded; "" if one did.
  std::vector<std::string> doubts = {};  ///< Why a failure may say nothing about the kernel.
  std::string body = {};                 ///< Text of the function, without comments.

  const ProposedLaunch& launch() const { return launches.front(); }
  /// Returns dims with those of the grid first, without sizes that follow from others.
  std::vector<std::string> dims() const;
};

/// Returns the parameter with this name in the source; null if there is none.
const ProposedParam* param_written(const ProposedKernel& kernel, const std::string& name);

/// The context of the kernels of a source.
struct SourceContext {
  Definitions definitions;
  std::vector<HostLaunch> launches;
};

/// Proposes from the text of a CUDA source, once for each instance that host code launches; nothing
/// if gpuemu.toml cannot pass a parameter. `why` says which.
std::vector<ProposedKernel> propose(const SourceKernel& kernel, const SourceContext& context,
                                    const std::string& source, std::string& why);
/// Proposes from the entry of a PTX text, whose parameters have sizes but no names. `block` has the
/// threads of its blocks along each axis; empty if the text does not say so.
std::optional<ProposedKernel> propose(const PtxMetrics& entry, const std::string& source,
                                      const std::vector<std::string>& block, std::string& why);
/// Returns the threads of `.reqntid` or `.maxntid` of this entry along each axis, without ones at
/// the end; empty if it has none.
std::vector<std::string> threads_of_entry(const std::string& ptx, const std::string& entry);

/// Returns a name of letters, digits and underscores that gpuemu.toml accepts; appends an
/// underscore to reserved words of Python or of an expression.
std::string legal_name(const std::string& text);

}  // namespace gpuemu::cli
