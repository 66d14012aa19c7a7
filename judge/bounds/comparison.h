// An output beside its reference, with everything that decides whether it is right, and the
// verdict.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/records.h"
#include "common/tensor/tensor_view.h"

namespace gpuemu {

struct ValidationPolicy {
  Tolerance tolerance;
  // For the scale-aware bound (tolerance.automatic); docs/internals/validation.md has the formula.
  std::optional<int64_t> accumulate_length;  ///< n; absent = 1.
  std::optional<DType> accumulate_dtype;
  ErrorScale error_scale = ErrorScale::Auto;  ///< When no scale tensor is given.
  double input_abs_max = 0;                   ///< X: largest finite |input|.
  bool ftz_ok = false;
  double widen = 1;  ///< Multiplies every bound: both sides of a comparison may have rounded.
  std::optional<NanPolicy> nan_policy;  ///< Absent: ops of existing clients.
  bool check_nan = true, check_inf = true;
  std::vector<InvariantSpec> invariants;
};

struct Comparison {
  std::string output_name;
  TensorView output;
  TensorView reference;       ///< Same dtype, or float64 / int64 not rounded to the output's dtype.
  bool has_reference = true;  ///< False: the invariants alone decide.
  bool reference_is_wide = false;  ///< True for the function form: the dtype is not compared.
  std::span<const double> scale;   ///< S of the bound, one per element; empty when none.
  /// Integers: 1 for elements that mean nothing and are not compared; empty when there are none.
  std::span<const uint8_t> undefined;
  std::string undefined_hint;  ///< For messages: why an integer may mean nothing.
  std::map<std::string, TensorView> inputs;
  std::string reference_input;  ///< For shape_preserved.
  ValidationPolicy policy;
};

struct Verdict {
  std::vector<ValidationFailure>
      failures;  ///< At most one per kind; the first names the kind of the case.
  double max_diff = 0, max_rel_diff = 0;
  std::optional<ErrorStats> stats;     ///< Float outputs of equal shape and dtype.
  std::optional<int64_t> worst_index;  ///< Largest use of its bound.
  double bound_ratio_max = 0;          ///< |o - r| / bound there.
};

}  // namespace gpuemu
