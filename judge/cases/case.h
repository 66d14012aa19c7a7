// A generated case of an op with a kernel: everything that follows from (op, base seed, iteration).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/service_limits.h"
#include "common/config/op_config.h"
#include "common/tensor/tensor.h"
#include "judge/cases/dims.h"

namespace gpuemu {

struct CaseTensor {
  std::string name;
  DType dtype = DType::Float32;
  Shape shape;
  Layout layout;
  bool inout = false;
  uint32_t base_offset_bytes = 0;
  std::vector<std::byte> initial = {};  ///< One element of an output that has initial values.
};

/// The plan of a case, without values. fill_input() computes the values from it.
struct CasePlan {
  std::string op;
  uint64_t base_seed = 0, iteration = 0, case_seed = 0;
  DType dtype = DType::Float32;
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> attrs;
  MemoryLayout layout = MemoryLayout::Contiguous;
  Strategy shape_strategy = Strategy::None, value_strategy = Strategy::None;
  /// The inputs' elements, if they do not follow from the seed because minimization changed some.
  /// `value_strategy` is then Stored.
  std::shared_ptr<const NamedTensors> stored;
  double value_scale = 1.0;  ///< Reduced by minimization; 1 when generated.
  /// Parameters of the value strategy besides the seed: the numbers for `thresholds`, a counter for
  /// patterns of rows.
  std::vector<double> value_parameters;
  std::string kernel;                       ///< The chosen variant; "" until it is chosen.
  std::vector<CaseTensor> inputs, outputs;  ///< An inout tensor is in both.
};

/// Limits for the size of a case.
struct SizeLimits {
  int64_t elements = kUsualElementsMax;                      ///< Elements of the largest tensor.
  double product = std::numeric_limits<double>::infinity();  ///< Product of all dims.
  double bytes = std::numeric_limits<double>::infinity();    ///< Bytes of all tensors.
};

/// Result of large_sizes().
struct LargeSizes {
  SizeLimits limits = {};
  std::vector<std::map<std::string, int64_t>> targets = {};  ///< Dims of the largest cases.
  /// Declared sizes that no case has, with the reason. Human-readable.
  std::vector<std::string> not_run = {};
};

struct CaseOptions {
  std::vector<DType> dtypes;         ///< Restricts the op's dtypes; empty: all of them.
  std::vector<Strategy> strategies;  ///< Value and shape strategies, or Default.
  /// Limit for the largest tensor; dims are lowered until it fits.
  int64_t elements_max = kUsualElementsMax;
  Constants constants = {};  ///< The kernel's numbers, for strategies that use them.
  LargeSizes large = {};     ///< Cases with other limits; none by default.
};

/// Returns the case seed of rng.md section 5.
uint64_t case_seed_of(uint64_t base_seed, uint64_t iteration, const std::string& op);

/// InvalidArgument if the op's schema cannot be evaluated; the message names op, tensor and
/// expression.
Result<CasePlan> plan_case(const OpConfig& op, uint64_t base_seed, uint64_t iteration,
                           const CaseOptions& options);

/// Returns `plan` with other dims and the same dtype and layout, for minimization. Derives shapes
/// and layouts again.
Result<CasePlan> with_dims(const OpConfig& op, const CasePlan& plan,
                           const std::map<std::string, int64_t>& dims);

/// Derives a new case from this one: depending on the seed of `iteration`, changes one to three of
/// its dims, attrs, layout and value strategy to other legal choices, and draws new values.
Result<CasePlan> mutated_case(const OpConfig& op, const CasePlan& from, uint64_t base_seed,
                              uint64_t iteration, const CaseOptions& options);

/// Writes the packed elements of input number `index`. Requires `to` to have exactly its size.
void fill_input(const OpConfig& op, const CasePlan& plan, size_t index, std::span<std::byte> to);

/// Parses strategies by name, including "default". InvalidArgument names the first unknown one.
Result<std::vector<Strategy>> parse_strategies(const std::vector<std::string>& names);

}  // namespace gpuemu
