// An op of gpuemu.toml: its tensors, sizes and attributes, and how its outputs are judged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/config/expression.h"
#include "common/config/judging.h"
#include "common/config/vocabulary.h"
#include "common/numeric/dtype.h"

namespace gpuemu {

/// The value of each element of an output, or of scratch memory, before the launch.
struct InitialValue {
  std::optional<double> real;  ///< Set if written with a fraction, as infinity or as NaN.
  Expression value;            ///< Set otherwise.
};

struct TensorSpec {
  std::string name;
  std::vector<Expression> shape;
  std::string dtype;  ///< "{dtype}" or a dtype name.
  /// The interval of values. If an end depends on sizes, the widest of any case; declared_range()
  /// gives the interval of one case.
  std::optional<std::pair<double, double>> range;
  std::optional<Expression> range_low, range_high;  ///< Ends that depend on sizes.
  bool distinct = false;                            ///< The values of an input are distinct.
  bool sorted = false;                  ///< An input's values ascend along the last axis.
  bool inout = false;                   ///< The output updates the input of the same name.
  std::optional<InitialValue> init;     ///< Absent: a kernel must not read it.
  std::optional<Tolerance> tolerance;   ///< An output's tolerance for every dtype.
  std::optional<NanPolicy> nan_policy;  ///< An output's policy; absent: the op's.
  /// For an output with several right answers: its elements index this input along the axis, or
  /// have no order along it.
  std::string indices_of;
  bool any_order = false;
  int64_t axis = -1;
  uint32_t align = 256;  ///< In bytes; a smaller value makes fuzzing use offset base addresses.
  /// Each launch that receives the address also receives these strides, so other layouts are
  /// allowed.
  bool outer_strides_passed = false;  ///< Strides of all axes but the last; rank 2 or more.
  bool all_strides_passed = false;
};

struct DimSpec {
  std::string name;
  bool is_set = false;  ///< One of `values`; otherwise `values` is [lo, hi].
  std::vector<int64_t> values;
};
inline int64_t lowest(const DimSpec& dim) { return std::ranges::min(dim.values); }
inline int64_t highest(const DimSpec& dim) { return std::ranges::max(dim.values); }

/// A dim computed from others, as in n = "2 * m".
struct DerivedDim {
  std::string name;
  Expression value;
};

struct AttrSpec {
  std::string name;
  DType dtype = DType::Float32;
  std::vector<double> values;  ///< At least one.
};

enum class ExecutionMode { ClientSide, ScriptBased, Kernel };

struct OpConfig {
  std::string name;
  std::string reference;  ///< Absolute path; "": none. Relative paths start at the file's folder.
  std::string reference_function;  ///< "softmax" of "ref.py:softmax"; "": reference().
  /// The path of `reference` if its function still only raises NotImplementedError, as `gpuemu
  /// init` writes it (stub_reference.h); `reference` is then "".
  std::string stub_reference;
  std::string guess;  ///< Why its sizes, arguments or launches may be wrong; "": they are not.
  std::vector<std::string> kernels;  ///< Variants.
  std::string op_script;
  ExecutionMode mode = ExecutionMode::ClientSide;
  ReferenceMode reference_mode = ReferenceMode::Auto;
  std::vector<std::string> input_names;
  std::vector<TensorSpec> inputs, outputs;
  std::vector<AttrSpec> attrs;
  std::vector<DimSpec> dims;             ///< Dims that a case chooses.
  std::vector<DerivedDim> derived_dims;  ///< Computed dims, each after those that it needs.
  std::optional<Expression> require;     ///< Cases only have sizes that satisfy it.
  std::vector<DType> dtypes;             ///< Never empty: the op's or [validation].dtypes.
  std::optional<Expression> accumulate;
  std::optional<DType> accumulate_dtype;
  ErrorScale error_scale = ErrorScale::Auto;
  std::map<std::string, ErrorScale> error_scales;  ///< By output, if any are set.
  ErrorScale error_scale_of(const std::string& output) const {
    const auto found = error_scales.find(output);
    return found == error_scales.end() ? error_scale : found->second;
  }
  std::optional<bool> strict;  ///< Absent: Config::strict.
  NanPolicy nan_policy = NanPolicy::Match;
  bool has_nan_policy = false;    ///< False for ops of existing clients.
  bool nan_policy_given = false;  ///< Set in gpuemu.toml rather than by default.
  /// The policy of an output, and whether gpuemu.toml sets it for the output or the op.
  NanPolicy nan_policy_of(const std::string& output) const;
  bool is_nan_policy_given(const std::string& output) const;
  SubnormalPolicy subnormal = SubnormalPolicy::Note;
  bool deterministic = true;
  /// Whether sums of small whole numbers are exact, so that they are compared without a tolerance.
  /// Absent: exact if error_scale is matmul, dot or sum.
  std::optional<bool> exact;
  /// Elements of the largest tensor of a case. Absent: Config::max_elements.
  std::optional<uint64_t> max_elements;
  /// Never empty. A tensor whose strides the kernel does not receive stays contiguous.
  std::vector<MemoryLayout> layouts;
  bool layouts_given = false;
  ToleranceTable tolerances;                  ///< The op's own; see Config::tolerance_for.
  std::vector<InvariantSpec> invariants;      ///< Relations too; see is_relation().
  std::vector<InvariantKind> invariants_off;  ///< Set to `false`: not inferred either.
  std::string file;                           ///< The file that declares it.
  uint32_t line = 0, column = 0, end_line = 0;
};

/// Adds the dims computed from the dims and attrs in the scope. InvalidArgument names a dim that
/// has no value or is negative, or `require` if these sizes violate it.
Status add_derived_dims(const OpConfig& op, Scope& scope);

/// Sets the default policy of an op with a kernel, if none is set.
void set_default_nan_policy(OpConfig& op);

}  // namespace gpuemu
