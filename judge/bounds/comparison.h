// An output, its reference, everything that decides whether the output is right, and the verdict.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/config/judging.h"
#include "common/protocol/records.gen.h"
#include "common/tensor/tensor_view.h"

namespace gpuemu {

struct ValidationPolicy {
  Tolerance tolerance;
  // For the scale-aware bound (tolerance.automatic); the formula is in
  // docs/internals/validation.md.
  std::optional<int64_t> accumulate_length;  ///< n; absent means 1.
  std::optional<DType> accumulate_dtype;
  ErrorScale error_scale = ErrorScale::Auto;  ///< Used if no scale tensor is given.
  double input_abs_max = 0;                   ///< X: largest finite |input|.
  bool ftz_ok = false;
  double widen = 1;  ///< Multiplies every bound, because both sides of a comparison may have
                     ///< rounded.
  std::optional<NanPolicy> nan_policy;  ///< Absent for ops of existing clients.
  bool check_nan = true, check_inf = true;
  std::vector<InvariantSpec> invariants;
};

struct Comparison {
  std::string output_name;
  TensorView output;
  TensorView reference;            ///< Same dtype as the output, or unrounded float64 / int64.
  bool has_reference = true;       ///< False: only the invariants decide.
  bool reference_is_wide = false;  ///< For the function form: the dtype is not compared.
  std::span<const double> scale;   ///< S of the bound, one per element; empty if there is none.
  /// Integers: 1 for elements that are undefined and therefore not compared; empty if there are
  /// none.
  std::span<const uint8_t> undefined;
  std::string undefined_hint;  ///< For messages: why an integer may be undefined.
  std::map<std::string, TensorView> inputs;
  std::string reference_input;  ///< Input for shape_preserved.
  ValidationPolicy policy;
};

struct Verdict {
  std::vector<ValidationFailure>
      failures;  ///< At most one per kind; the first gives the case its kind.
  double max_diff = 0, max_rel_diff = 0;
  std::optional<ErrorStats> stats;     ///< For float outputs of the reference's shape and dtype.
  std::optional<int64_t> worst_index;  ///< Element with the largest ratio of error to bound.
  double bound_ratio_max = 0;          ///< |o - r| / bound there.
};

}  // namespace gpuemu
