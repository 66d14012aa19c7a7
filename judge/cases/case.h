// A generated case of an op with a kernel: everything that follows from (op, base seed, iteration).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/service_limits.h"
#include "common/config/config.h"
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
  std::vector<std::byte> initial = {};  ///< One element of an output that begins with values.
};

/// The plan of a case: no values yet. Values follow from it with fill_input.
struct CasePlan {
  std::string op;
  uint64_t base_seed = 0, iteration = 0, case_seed = 0;
  DType dtype = DType::Float32;
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> attrs;
  MemoryLayout layout = MemoryLayout::Contiguous;
  Strategy shape_strategy = Strategy::None, value_strategy = Strategy::None;
  /// The inputs' elements, where they do not follow from the seed: minimization has changed single
  /// ones. `value_strategy` is then Stored.
  std::shared_ptr<const NamedTensors> stored;
  double value_scale = 1.0;  ///< Narrowed by minimization; 1 as generated.
  /// What the value strategy takes beside the seed: `thresholds` its numbers, patterns of rows
  /// their turn.
  std::vector<double> value_parameters;
  std::string kernel;                       ///< The variant chosen, "" until the engine knows.
  std::vector<CaseTensor> inputs, outputs;  ///< An inout tensor stands in both.
};

/// How large a case may be.
struct SizeLimits {
  int64_t elements = kUsualElementsMax;                      ///< Elements of the largest tensor.
  double product = std::numeric_limits<double>::infinity();  ///< The product of all dims.
  double bytes = std::numeric_limits<double>::infinity();    ///< Bytes of all tensors.
};

/// What large_sizes() finds.
struct LargeSizes {
  SizeLimits limits = {};
  std::vector<std::map<std::string, int64_t>> targets = {};  ///< Dims of the largest cases.
  std::vector<std::string> not_run = {};  ///< Declared sizes that no case has, and why; for people.
};

struct CaseOptions {
  std::vector<DType> dtypes;                 ///< Restricts the op's; empty = the op's.
  std::vector<Strategy> strategies;          ///< Value or shape strategies or Default.
  int64_t elements_max = kUsualElementsMax;  ///< Largest tensor; dims are lowered until it fits.
  Constants constants = {};                  ///< The kernel's, for strategies that use them.
  LargeSizes large = {};                     ///< Cases with other limits; by default none.
};

/// The case seed of rng.md section 5.
uint64_t case_seed_of(uint64_t base_seed, uint64_t iteration, const std::string& op);

/// InvalidArgument when the op's schema does not evaluate (message names op, tensor and
/// expression).
Result<CasePlan> plan_case(const OpConfig& op, uint64_t base_seed, uint64_t iteration,
                           const CaseOptions& options);

/// `plan` with other dims (dtype and layout as they are): what minimization tries. Shapes and
/// layouts are derived anew.
Result<CasePlan> with_dims(const OpConfig& op, const CasePlan& plan,
                           const std::map<std::string, int64_t>& dims);

/// Another case made from this one: by the seed of `iteration` one to three of its dims, attrs,
/// layout and value strategy become another legal one, and its values are drawn anew.
Result<CasePlan> mutated_case(const OpConfig& op, const CasePlan& from, uint64_t base_seed,
                              uint64_t iteration, const CaseOptions& options);

/// Writes the packed elements of input number `index`. REQUIRES: `to` has exactly its bytes.
void fill_input(const OpConfig& op, const CasePlan& plan, size_t index, std::span<std::byte> to);

/// Strategies by name, "default" among them. InvalidArgument for the first that does not exist.
Result<std::vector<Strategy>> parse_strategies(const std::vector<std::string>& names);

}  // namespace gpuemu
